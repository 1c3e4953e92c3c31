"""Natural cubic splines."""

from numerics.linear import solve


class Spline:
    """The natural cubic spline through points with increasing x."""

    def __init__(self, xs, ys):
        self.xs, self.ys = list(xs), list(ys)
        self.second = self._second_derivatives()

    def _second_derivatives(self):
        xs, ys = self.xs, self.ys
        n = len(xs)
        matrix = [[0.0] * n for _ in range(n)]
        right = [0.0] * n
        matrix[0][0] = matrix[-1][-1] = 1.0
        for i in range(1, n - 1):
            before, after = xs[i] - xs[i - 1], xs[i + 1] - xs[i]
            matrix[i][i - 1] = before
            matrix[i][i] = 2 * (before + after)
            matrix[i][i + 1] = before
            right[i] = 6 * ((ys[i + 1] - ys[i]) / after - (ys[i] - ys[i - 1]) / before)
        return solve(matrix, right)

    def __call__(self, x):
        """Return the value at x."""
        i = 0
        while i < len(self.xs) - 2 and x > self.xs[i + 1]:
            i += 1
        h = self.xs[i + 1] - self.xs[i]
        a, b = (self.xs[i + 1] - x) / h, (x - self.xs[i]) / h
        bend = (a**3 - a) * self.second[i] + (b**3 - b) * self.second[i + 1]
        return a * self.ys[i] + b * self.ys[i + 1] + bend * h * h / 6
