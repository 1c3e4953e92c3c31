"""The options that say how a gate asks, judges and reports, declared once for every command that has them."""

from pathlib import Path
from typing import Annotated

import typer

from bfcl_gate.cli.options import MOST_AT_ONCE

SampleOption = Annotated[
    str,
    typer.Option(
        "--sample", help="mlperf (995), quick (screening), full (3,641), or a file of ids, one a line."
    ),
]
RulesOption = Annotated[str, typer.Option("--rules", help="Checker rules: mlperf or official.")]
ToolSchemasOption = Annotated[
    str, typer.Option("--tool-schemas", help="How tools are put to the model: mlperf or official.")
]
CallsOption = Annotated[
    str, typer.Option("--calls", help="Which reading of an answer is judged: native or lenient.")
]
StoredRulesOption = Annotated[
    str | None,
    typer.Option("--rules", help="Checker rules: mlperf or official.", show_default="as stored, or mlperf"),
]
StoredToolSchemasOption = Annotated[
    str | None,
    typer.Option(
        "--tool-schemas",
        help="Tools the answers were made with: mlperf or official.",
        show_default="as stored, or mlperf",
    ),
]
StoredCallsOption = Annotated[
    str | None,
    typer.Option(
        "--calls", help="Which reading is judged: native or lenient.", show_default="as stored, or lenient"
    ),
]
BaselineOption = Annotated[
    Path | None, typer.Option("--baseline", metavar="DIR", help="Line: 0.97 x this earlier run's accuracy.")
]
ReferenceOption = Annotated[
    str | None, typer.Option("--reference", metavar="NAME", help="Line: 0.97 x this reference's accuracy.")
]
MinOverallOption = Annotated[
    float | None, typer.Option("--min-overall", metavar="X", help="Line: least overall accuracy, a fraction.")
]
MinNormalizedOption = Annotated[
    float | None,
    typer.Option("--min-normalized", metavar="X", help="Line: least normalised accuracy, a fraction."),
]
ParallelOption = Annotated[
    int,
    typer.Option(
        "--parallel", min=1, max=64, help="Gate samples decoded at once in one context; local engine only."
    ),
]
SharePrefixOption = Annotated[
    bool,
    typer.Option(
        "--share-prefix",
        help="Let a gate prompt begin with what it shares with the one before; local engine only.",
    ),
]
UntilDecidedOption = Annotated[
    bool, typer.Option("--until-decided", help="Stop as soon as no remaining answer can change the verdict.")
]
ConcurrencyOption = Annotated[
    int,
    typer.Option(
        "--concurrency", min=1, max=MOST_AT_ONCE, metavar="N", help="Samples asked at once; endpoints only."
    ),
]
OutputOption = Annotated[
    Path | None, typer.Option("--output", metavar="DIR", help="Keep the run in this folder.")
]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Continue the run in --output.")]
MissesOption = Annotated[bool, typer.Option("--misses", help="List every miss, however many there are.")]
SummaryOption = Annotated[bool, typer.Option("--summary", help="Print one line instead of the report.")]
JunitOption = Annotated[
    Path | None, typer.Option("--junit", metavar="FILE", help="Also write the checks as JUnit XML.")
]
