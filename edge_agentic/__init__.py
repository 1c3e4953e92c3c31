"""Edge-agentic: a timed coding-agent workload on a local model that is proven to call tools correctly."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edge_agentic import agreement as agreement
    from edge_agentic.trace import Trajectory, Turn, load_trajectories

__all__ = ["Trajectory", "Turn", "agreement", "load_trajectories"]


def __getattr__(name: str) -> Any:
    """Load a public name on first use, so that `import edge_agentic` costs nothing."""
    if name == "agreement":
        return import_module("edge_agentic.agreement")
    if name in __all__:
        return getattr(import_module("edge_agentic.trace"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
