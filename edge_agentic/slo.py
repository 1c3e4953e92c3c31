"""Service level objectives: how fast a turn has to be to count, as `--slo` gives them."""

import re
from dataclasses import asdict, dataclass

from bfcl_gate.errors import InputError

_UNITS_S = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}
_MOST_S = 1e6
_PART = re.compile(r"\s*(\w+)\s*=\s*([0-9]+(?:\.[0-9]+)?)\s*(\w*)\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Slo:
    """Longest times in seconds, None where nothing is asked: TTFT, TPOT, turn latency."""

    ttft_s: float | None = None
    tpot_s: float | None = None
    latency_s: float | None = None

    def to_dict(self) -> dict[str, float]:
        """Return the objectives that were set, for result.json."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def parse_slo(text: str) -> Slo:
    """Read `ttft=2s,tpot=50ms,latency=30s`: any of the three, units us, ms, s or min.

    Raises InputError for anything else.
    """
    found: dict[str, float] = {}
    for part in text.split(","):
        match = _PART.fullmatch(part)
        name = "" if match is None else f"{match[1]}_s"
        if match is None or name not in Slo.__dataclass_fields__ or match[3] not in _UNITS_S:
            raise InputError(
                f"--slo {text!r}: {part.strip()!r} is no objective; expected ttft, tpot or latency with a number and a "
                "unit (us, ms, s or min), for example ttft=2s,tpot=50ms."
            )
        limit_s = float(match[2]) * _UNITS_S[match[3]]
        if name in found:
            raise InputError(f"--slo {text!r}: {match[1]} is given twice.")
        if not 0 < limit_s <= _MOST_S:
            raise InputError(
                f"--slo {text[:80]!r}: {match[1]} is {'too long a time' if limit_s else 'zero'}."
            )
        found[name] = limit_s
    return Slo(**found)
