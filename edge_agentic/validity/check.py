"""One rule of a run and whether it held."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

INVALID = "INVALID"
WARN = "WARN"


@dataclass(frozen=True, slots=True)
class Check:
    """`level` is INVALID (broken: the numbers must not be quoted) or WARN (broken: shown beside them).

    `detail` is the finding in one sentence; parts of it may come from a trace or a server.
    """

    name: str
    level: str
    passed: bool
    detail: str

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of result.json."""
        return {"name": self.name, "level": self.level, "passed": self.passed, "detail": self.detail}


def valid(checks: Iterable[Check]) -> bool:
    """A run is valid when none of its INVALID-level rules was broken."""
    return all(check.passed for check in checks if check.level == INVALID)
