"""Functions whose obvious formula loses digits."""

import math


def exp_minus_one(x):
    """Return e**x - 1."""
    return math.exp(x) - 1


def log_one_plus(x):
    """Return log(1 + x)."""
    return math.log(1 + x)


def hypotenuse(a, b):
    """Return sqrt(a² + b²)."""
    return math.sqrt(a * a + b * b)
