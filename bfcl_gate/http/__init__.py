"""The HTTP client: files that are fetched, and requests whose answers are streamed. Loads httpx2 when first used."""

from bfcl_gate.http.files import Report, download, require_space
from bfcl_gate.http.stream import BrokenError, Connection, Incoming, UnreachableError, broken_by
from bfcl_gate.http.watchdog import Limits, Watchdog

__all__ = [
    "BrokenError",
    "Connection",
    "Incoming",
    "Limits",
    "Report",
    "UnreachableError",
    "Watchdog",
    "broken_by",
    "download",
    "require_space",
]
