"""A model and the proof that it calls tools accurately: the BFCL v4 single-turn gate.

`gate_samples` and `judge` are the whole contract for callers in Python; everything is loaded on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bfcl_gate.marks import Mark, judge
    from bfcl_gate.samples import Sample, gate_samples

__all__ = ["Mark", "Sample", "gate_samples", "judge"]

_HOMES = {"Mark": "marks", "Sample": "samples", "gate_samples": "samples", "judge": "marks"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
