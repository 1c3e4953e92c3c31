"""Values in payloads."""

from decimal import Decimal

SCALES = {"temperature": Decimal("0.1"), "pressure": Decimal("0.01"), "power": Decimal(5)}
INVALID = 0x8000


def read_value(kind, payload, index=0):
    raw = int.from_bytes(payload[2 * index : 2 * index + 2], "big")
    if raw == INVALID:
        return None
    if raw > 0x7FFF:
        raw -= 0x10000
    return raw * SCALES[kind]


def write_value(kind, value):
    raw = 0x8000 if value is None else int(Decimal(str(value)) / SCALES[kind]) & 0xFFFF
    return raw.to_bytes(2, "big")


def describe(code):
    from device.codes import CODES

    for number, group, text, action in CODES:
        if number == code:
            return f"{group}: {text} ({action})" if action else f"{group}: {text}"
    return f"unknown code {code}"
