"""What is kept for a key."""

from dataclasses import dataclass


@dataclass
class Entry:
    value: object
    stored: float
