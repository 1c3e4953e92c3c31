"""One booking of an account."""

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True)
class Booking:
    day: date
    cents: int
    memo: str = ""
