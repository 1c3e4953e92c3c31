"""Roots."""


def root(f, a, b):
    """Return x between a and b with f(x) = 0; f(a) and f(b) have different signs. The secant of the bracket is cut with 0."""
    fa, fb = f(a), f(b)
    if fa * fb > 0:
        raise ValueError(f"f has the same sign at {a} and {b}")
    for _ in range(58):
        x = a - fa * (b - a) / (fb - fa)
        fx = f(x)
        if abs(fx) < 1e-12:
            return x
        if fa * fx < 0:
            b, fb = x, fx
        else:
            a, fa = x, fx
    return x
