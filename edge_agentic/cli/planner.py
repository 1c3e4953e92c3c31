"""A tokenizer for commands that count tokens without running a model."""

from typing import TYPE_CHECKING

from bfcl_gate.cli.engine import local_settings
from bfcl_gate.cli.options import EngineOptions
from bfcl_gate.cli.progress import transfer

if TYPE_CHECKING:
    from bfcl_gate.model.child_engine import ChildEngine


def planner(options: EngineOptions) -> "ChildEngine":
    """Open the model's tokenizer and template, without its weights."""
    from dataclasses import replace

    from bfcl_gate.model.child_engine import ChildEngine

    return ChildEngine(replace(local_settings(options, transfer), ctx=256, vocab_only=True))
