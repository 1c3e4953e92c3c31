"""A live agent's requests to a trace: a proxy passes them on, a journal keeps them, the importers join them."""

from edge_agentic.recorder.session import Recorded, Settings, record
from edge_agentic.recorder.writer import Tally

__all__ = ["Recorded", "Settings", "Tally", "record"]
