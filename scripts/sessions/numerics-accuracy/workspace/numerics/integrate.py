"""Integrals."""

DEEPEST = 20


class ToleranceError(ArithmeticError):
    """The wanted accuracy was not reached."""


def integrate(f, a, b, tolerance=1e-10):
    """Return the integral of f from a to b; adaptive Simpson rule."""
    return _adaptive(f, a, b, tolerance, 0)


def _simpson(f, a, b):
    return (b - a) / 6 * (f(a) + 4 * f((a + b) / 2) + f(b))


def _adaptive(f, a, b, tolerance, depth):
    whole = _simpson(f, a, b)
    middle = (a + b) / 2
    halves = _simpson(f, a, middle) + _simpson(f, middle, b)
    if abs(halves - whole) < tolerance or depth == DEEPEST:
        return halves
    return _adaptive(f, a, middle, tolerance, depth + 1) + _adaptive(f, middle, b, tolerance, depth + 1)
