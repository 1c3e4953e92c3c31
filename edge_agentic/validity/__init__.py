"""The rules a run must keep so that its numbers may be believed.

A check exists only where the facts for it were recorded, so a missing sensor is silent and never a pass.
What is a matter of the machine's condition (load, throttling, drift, clocks) is a WARN, and INVALID under a
strict ruleset.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from edge_agentic.turns import TurnResult
from edge_agentic.validity import machine_rules, server_rules, turn_rules
from edge_agentic.validity.check import INVALID, WARN, Check, valid

__all__ = ["INVALID", "WARN", "Check", "check_run", "valid"]


def check_run(
    manifest: Mapping[str, Any],
    turns: Sequence[TurnResult],
    *,
    snapshots: Sequence[Mapping[str, Any]] = (),
    strict: bool = False,
    seams: Collection[tuple[str, int]] = (),
) -> tuple[Check, ...]:
    """Apply every rule that the recorded facts allow.

    From the manifest (run.json) are read, where present: `planned.turns`, `planned.largest_prompt_tokens`,
    `engine.kind`, `engine.ctx`, `engine.gpu_layers`, `engine.layers`, `engine.offloaded_layers`,
    `options.max_tokens`, `limits`, `model.bytes` and `preflight`. `snapshots` holds one {"before", "after"} pair of
    `edge_agentic.environment.snapshot` for each session of the run; `strict` is the ruleset's.
    """
    condition = INVALID if strict else WARN
    return (
        *turn_rules.check_turns(manifest, turns, seams, condition),
        *machine_rules.check_machine(manifest, snapshots, condition),
        *server_rules.check_server(manifest),
    )
