"""What was found out before a run: about a server or a machine, one finding a line, with what it means."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

INVALID = "INVALID"
WARN = "WARN"
INFO = "INFO"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """`level` says what it would be if it did not hold: INVALID (a run cannot be valid), WARN or INFO (good to know).

    `passed` None: it could not be told. `detail` is what was found, `meaning` what that is good for; `detail` may hold
    words of a server.
    """

    name: str
    level: str
    passed: bool | None
    detail: str
    meaning: str

    @property
    def status(self) -> str:
        """The word of its line in a table."""
        if self.passed is None:
            return "unknown"
        if self.passed:
            return "ok"
        return "no" if self.level == INFO else self.level

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of run.json and result.json."""
        return asdict(self)


def broken(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return the names of the findings with which no run can be valid."""
    return tuple(f.name for f in findings if f.level == INVALID and f.passed is False)


def finding_of(row: Mapping[str, Any]) -> Finding:
    """Build a finding from its JSON object."""
    return Finding(**{key: row[key] for key in ("name", "level", "passed", "detail", "meaning")})
