"""The README files of the tree: what it is, and plainly what it is not."""

import json

from bfcl_gate.ruleset import MLPERF_V6_1
from edge_agentic.mlperf_export.account import Account
from edge_agentic.mlperf_export.choices import choices, departures
from edge_agentic.mlperf_export.eligibility import CLOSED, EXAMPLE, GATE_SAMPLES, OPEN
from edge_agentic.mlperf_export.figures import markdown
from edge_agentic.mlperf_export.measured import result_lines, run_lines


def readme(account: Account) -> str:
    """Return README.md of the results, in Markdown; everything from elsewhere is escaped."""
    blocks = (
        _head(account),
        ["## Result", "", *result_lines(account.evidence)],
        ["## What ran", "", *run_lines(account.evidence)],
        ["## Choices, and why", "", *choices(account)],
        ["## Where the reference's harness counts otherwise", "", *departures(account.evidence)],
        ["## Left to the submitter", "", *_left(account)],
    )
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _head(account: Account) -> list[str]:
    name = f"{markdown(account.submitter)}, {markdown(account.system)}"
    if account.kind == EXAMPLE:
        title = f"# Not a submission: an example of the layout ({name})"
    else:
        title = f"# {name}: qwen3.6-27b, SingleStream, {account.kind} division"
    return [title, "", *_standing(account), "", "Not verified by MLCommons Association."]


def _standing(account: Account) -> list[str]:
    """Say what the tree is, and plainly what it is not."""
    missing = [f"- {markdown(one.detail)}" for one in account.shortfalls]
    made = (
        "Made by `edge-agentic export-mlperf` from one stored run; every figure is derived from its readings."
    )
    if account.kind == CLOSED:
        return [
            f"{made} The run kept every rule of the profile {MLPERF_V6_1.name}, and its own full gate of "
            f"{GATE_SAMPLES} samples passed MLPerf's lines. Whether it is submitted, and the fields below, are the "
            "submitter's."
        ]
    if account.kind == OPEN:
        return [
            f"{made} The workload and the gate's {GATE_SAMPLES} samples are the reference's. It is not comparable to "
            "results of the closed division, whose rules it does not keep in this:",
            "",
            *(missing or ["- nothing that a run could show; it was exported as open by request"]),
        ]
    return [
        "**This folder shows which files a submission has. It is no MLPerf result: it must not be submitted, nor "
        "quoted as one.** " + made,
        "",
        "What keeps the run from being a submission of the closed division:",
        "",
        *(missing or ["- nothing but the option --any-run, with which this example was asked for"]),
    ]


def _left(account: Account) -> list[str]:
    check = "python -m inference.tools.submission.submission_checker.main --input TREE --version v6.1 --submitter NAME"
    return [
        *(f"- {markdown(item)}" for item in account.to_fill),
        "",
        "Then check the tree, in the folder that holds the clone `inference` of mlcommons/inference:",
        "",
        f"    {check}",
    ]


def src_readme(account: Account) -> str:
    """Return README.md of `src`: which program made the run, and with which options."""
    result = account.evidence.result
    options = json.dumps(dict(account.evidence.options), indent=2)
    return "\n".join(
        [
            "# Source",
            "",
            f"The run was made by edge-agentic {markdown(result.get('tool_version'))} on "
            f"{markdown(result.get('created_at'))}. Put the source of that version into this folder, and what else "
            "it takes to repeat the run (build options of llama.cpp, patches, launch scripts).",
            "",
            "Its options, as the run stored them (files by their name only):",
            "",
            *(f"    {line}" for line in options.splitlines()),
            "",
            f"config_id {markdown(result['config_id'])}, engine_id {markdown(result['engine_id'])}",
            "",
        ]
    )
