"""Reading recorded values of which nothing is certain: each accessor gives its type or its empty value."""

import math
import re
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9})\d*)?)?\s*(Z|z|[+-]\d\d:?\d\d)?\Z"
)


def obj(value: Any) -> Mapping[str, Any]:
    """Return a JSON object, or an empty one."""
    return value if isinstance(value, dict) else {}


def arr(value: Any) -> list[Any]:
    """Return a JSON array, or an empty one."""
    return value if isinstance(value, list) else []


def objects(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects of a JSON array."""
    return [each for each in arr(value) if isinstance(each, dict)]


def text(value: Any) -> str:
    """Return a string, or an empty one."""
    return value if isinstance(value, str) else ""


def name(value: Any) -> str | None:
    """Return an id as text, None where there is none (missing, null or empty)."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    try:
        return str(value) or None
    except ValueError:  # an integer with thousands of digits
        return None


def number(value: Any) -> float | None:
    """Return a finite number, None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def count(value: Any) -> int | None:
    """Return a number of tokens, None where it is none or below zero."""
    found = number(value)
    return None if found is None or found < 0 or found > 1e12 else int(found)


def seconds(value: Any) -> float | None:
    """Return a time as seconds since 1970, from ISO 8601 text or a number in s, ms, µs or ns."""
    if isinstance(value, str) and (match := _ISO.match(value)):
        return _iso(match)
    found = number(value)
    if found is None or found <= 0:
        return None
    for limit, unit in ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3)):
        if found >= limit:
            return found / unit
    return found


def _iso(match: "re.Match[str]") -> float | None:
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    try:
        moment = datetime(
            int(year), int(month), int(day), int(hour), int(minute), int(second or 0), tzinfo=timezone.utc
        )
    except ValueError:
        return None
    offset = 0
    if zone and zone not in "Zz":
        offset = (int(zone[1:3]) * 60 + int(zone[-2:])) * (-60 if zone[0] == "-" else 60)
    return moment.timestamp() - offset + (float(f"0.{fraction}") if fraction else 0.0)
