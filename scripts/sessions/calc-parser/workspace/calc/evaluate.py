"""Computes the value of a tree."""

from decimal import ROUND_HALF_UP, Decimal

from calc.errors import CalcError

BINARY = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "%": lambda a, b: a % b,
    "^": lambda a, b: a**b,
    "<": lambda a, b: Decimal(a < b),
    "<=": lambda a, b: Decimal(a <= b),
    ">": lambda a, b: Decimal(a > b),
    ">=": lambda a, b: Decimal(a >= b),
    "=": lambda a, b: Decimal(a == b),
    "!=": lambda a, b: Decimal(a != b),
    "and": lambda a, b: Decimal(bool(a and b)),
    "or": lambda a, b: Decimal(bool(a or b)),
}
FUNCTIONS = {
    "min": min,
    "max": max,
    "abs": abs,
    "round": lambda x, digits: x.quantize(Decimal(1).scaleb(-int(digits)), rounding=ROUND_HALF_UP),
    "floor": lambda x: Decimal(int(x)),
    "ceil": lambda x: Decimal(int(x)) + 1,
    "if": lambda c, a, b: a if c else b,
}


def evaluate(tree, names):
    """Return the value of a tree as a Decimal; `names` gives the values of names. Raises CalcError."""
    operation, place, *parts = tree
    if operation == "number":
        return parts[0]
    if operation == "name":
        if parts[0] not in names:
            raise CalcError(place, f"{parts[0]} has no value")
        return names[parts[0]]
    if operation == "call":
        function = FUNCTIONS[parts[0]]
        return function(*(evaluate(part, names) for part in parts[1:]))
    values = [evaluate(part, names) for part in parts]
    if operation == "if":
        return values[1] if values[0] else values[2]
    if operation == "not":
        return Decimal(not values[0])
    if operation in ("negative", "positive"):
        return -values[0] if operation == "negative" else values[0]
    return BINARY[operation](*values)
