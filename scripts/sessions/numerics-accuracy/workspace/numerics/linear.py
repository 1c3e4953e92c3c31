"""Linear systems."""


class SingularError(ArithmeticError):
    """A system without a unique solution."""


def solve(matrix, right):
    """Return x with matrix · x = right; Gaussian elimination."""
    n = len(right)
    rows = [list(row) + [value] for row, value in zip(matrix, right)]
    for column in range(n):
        pivot = rows[column][column]
        if pivot == 0:
            raise SingularError(f"column {column} has no pivot")
        for below in range(column + 1, n):
            factor = rows[below][column] / pivot
            for k in range(column, n + 1):
                rows[below][k] -= factor * rows[column][k]
    x = [0.0] * n
    for i in reversed(range(n)):
        x[i] = (rows[i][n] - sum(rows[i][k] * x[k] for k in range(i + 1, n))) / rows[i][i]
    return x
