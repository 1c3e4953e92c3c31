"""`bfcl-gate score`: judge stored answers again, without a model."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from bfcl_gate.cli import gate_options as gate
from bfcl_gate.cli.outcome import ReportOptions, leave_with
from bfcl_gate.cli.shell import safe_text
from bfcl_gate.errors import InputError

if TYPE_CHECKING:
    from bfcl_gate.answers import Answer
    from bfcl_gate.lines import Line, LineOptions
    from bfcl_gate.responses import Responses
    from bfcl_gate.ruleset import GatePolicy

StoredArgument = Annotated[
    Path,
    typer.Argument(
        metavar="RESPONSES.jsonl",
        help="Stored messages, a gate.jsonl, the folder of a run, or a model's result folder of bfcl-eval.",
    ),
]


_STORED = ("rules", "tool_schemas", "calls", "max_tokens", "parallel", "share_prefix")


def score(
    stored: StoredArgument,
    *,
    rules: gate.StoredRulesOption = None,
    tool_schemas: gate.StoredToolSchemasOption = None,
    calls: gate.StoredCallsOption = None,
    baseline: gate.BaselineOption = None,
    reference: gate.ReferenceOption = None,
    min_overall: gate.MinOverallOption = None,
    min_normalized: gate.MinNormalizedOption = None,
    output: gate.OutputOption = None,
    misses: gate.MissesOption = False,
    summary: gate.SummaryOption = False,
    junit: gate.JunitOption = None,
) -> None:
    """Score stored answers; they are judged only where a line is given."""
    from bfcl_gate.lines import LineOptions
    from bfcl_gate.responses import load_responses

    lines = LineOptions(
        baseline=baseline, reference=reference, min_overall=min_overall, min_normalized=min_normalized
    )
    responses = load_responses(stored)
    given = {"rules": rules, "tool_schemas": tool_schemas, "calls": calls}
    if responses.skipped:
        sys.stderr.write(safe_text(f"Left out, not single-turn: {', '.join(responses.skipped)}.\n"))
    policy = stored_policy(responses, {key: value for key, value in given.items() if value is not None})
    _score(responses, policy, lines, output, ReportOptions(misses=misses, summary=summary, junit=junit))


def stored_policy(responses: "Responses", given: Mapping[str, str]) -> "GatePolicy":
    """Take what was not given from the stored run, and name the sample that the rows make up."""
    from bfcl_gate.responses import sample_name
    from bfcl_gate.ruleset import GatePolicy

    header = responses.header or {}
    stored = {key: header[key] for key in _STORED if key in header}
    return GatePolicy(sample=sample_name(responses), **{**stored, **given})


def _score(
    responses: "Responses",
    policy: "GatePolicy",
    lines: "LineOptions",
    output: Path | None,
    report: ReportOptions,
) -> NoReturn:
    from bfcl_gate.responses import mark_responses
    from bfcl_gate.run_folder import require_usable
    from bfcl_gate.verdict import gate_object

    if output is not None:
        require_usable(output, resume=False)
    answers = mark_responses(responses, policy)
    line = _line(responses, policy, lines)
    verdict = gate_object(answers, [answer.id for answer in answers], policy, line)
    if output is not None:
        _keep(output, responses, policy, answers, verdict)
    leave_with(verdict, answers, report)


def _line(responses: "Responses", policy: "GatePolicy", lines: "LineOptions") -> "Line | None":
    """Return the line where one was given; a set that is no known sample is judged by minima only."""
    from bfcl_gate.lines import resolve_line
    from bfcl_gate.ruleset import PARTIAL
    from bfcl_gate.words import count

    if not lines.given():
        return None
    line = resolve_line(lines, [row.id for row in responses.rows], policy, None)
    if policy.sample == PARTIAL and line.source != "minima":
        raise InputError(
            f"No known sample has just the ids of this set ({count(len(responses.rows), 'answer')}), so --baseline and "
            "--reference cannot judge it; expected answers to every id of mlperf, quick or full, or of the run's own "
            "sample. Leave the option out to see the scores, or give --min-overall X."
        )
    return line


def _keep(
    output: Path,
    responses: "Responses",
    policy: "GatePolicy",
    answers: "tuple[Answer, ...]",
    verdict: Mapping[str, Any],
) -> None:
    from bfcl_gate.gate_file import rescored_header
    from bfcl_gate.identity import policy_fields
    from bfcl_gate.journal import Journal
    from bfcl_gate.run_folder import JOURNAL, RESULT, begin, new_manifest, write_json

    ids = [answer.id for answer in answers]
    header = rescored_header(responses.header, policy, ids)
    manifest = new_manifest(header, policy=policy_fields(policy, ids))
    begin(output, manifest)
    with Journal(output / JOURNAL) as journal:
        journal.extend([header, *(answer.to_row() for answer in answers)])
    write_json(output / RESULT, {**manifest, "gate": verdict})
