"""Numerical code that loses digits: pivots, cancellation, slow convergence, and a tolerance in a test that hides a fault; one tool."""

from steps import act, agent, bash, replacing, say, shell_task, think

SYSTEM, TOOLS = agent("shell")

TASK = shell_task("""
The routines in numerics/ (README.md says what each promises) were ported from an old controller and are not accurate. Nine tests fail. Please repair them and check
that every promise in the table really holds, also where no test looks. Pure Python with the standard library only. If a test cannot see a fault it is meant to see, say so and
add one that can, in tests/test_promises.py; do not change the existing tests.
""")

CHECK = r"""python -m pytest -q && test -f tests/test_promises.py && python - <<'EOF'
from numerics.series import exp_minus_one, log_one_plus
from numerics.integrate import ToleranceError, integrate
assert exp_minus_one(1e-20) == 1e-20 and log_one_plus(1e-20) == 1e-20
try:
    integrate(lambda x: 1 if x > 0.3 else 0, 0, 1, 1e-12)
except ToleranceError:
    pass
else:
    raise SystemExit('no ToleranceError')
EOF"""

STEPS = [
    think("Read the promises and see what is there.", bash("cat README.md; wc -l numerics/*.py tests/*.py")),
    act(bash("cat numerics/linear.py numerics/spline.py")),
    act(bash("cat numerics/integrate.py numerics/roots.py")),
    act(bash("cat numerics/running.py numerics/series.py")),
    act(bash("cat tests/test_numerics.py")),
    act(bash("python -m pytest -q 2>&1 | grep -E '^E    |^FAILED|passed|failed' | cut -c1-130")),
    say(
        "One after the other, from the bottom: `linear` is used by `spline`. Without exchanging rows a small pivot destroys digits and a nought stops everything. Partial pivoting: take the row with the largest value in the column. When is a system singular? An exact 0 hardly occurs in floats; "
        "a pivot that is tiny against the entries of its column before elimination is one. First the size of the effect:",
        bash(
            "python - <<'EOF'\nfrom numerics.linear import solve\nfor e in (1e-3, 1e-8, 1e-13, 1e-17):\n    print(e, solve([[e, 1.0], [1.0, 1.0]], [1.0, 2.0]))\nprint(solve([[0.1, 0.2], [0.3, 0.6]], [1, 3]))\nEOF"
        ),
    ),
    say(
        "The digits go as the first entry shrinks. The last system is singular; that is noticed only because its second pivot happens to be exactly 0 after rounding, which no program should rely on.",
        replacing(
            "numerics/linear.py",
            (
                '    """Return x with matrix · x = right; Gaussian elimination."""\n',
                '    """Return x with matrix · x = right; Gaussian elimination with row exchanges.\n\n    Raises SingularError if a pivot is nothing but rounding: below n · 1e-15 of the largest entry.\n    """\n',
            ),
            (
                "    for column in range(n):\n        pivot = rows[column][column]\n        if pivot == 0:\n",
                "    smallest = n * 1e-15 * max((abs(value) for row in matrix for value in row), default=0.0)\n    for column in range(n):\n        best = max(range(column, n), key=lambda i: abs(rows[i][column]))\n        rows[column], rows[best] = rows[best], rows[column]\n        pivot = rows[column][column]\n        if abs(pivot) <= smallest:\n",
            ),
            then='python -m pytest -q 2>&1 | tail -n 8 | cut -c1-110; python -c "\nfrom numerics.linear import solve\ntry: print(solve([[0.1, 0.2], [0.3, 0.6]], [1, 3]))\nexcept ArithmeticError as e: print(type(e).__name__, e)"',
        ),
    ),
    say(
        "Is the threshold fair? A well-conditioned system whose rows have very different sizes (volts and microamperes) must not be called singular: diag(1e9, 1e-9) has the smallest entry 1e-18 of the largest.",
        bash(
            "python - <<'EOF'\nfrom numerics.linear import SingularError, solve\nfor matrix in ([[1e9, 0], [0, 1e-9]], [[1e9, 2e9], [1e-9, 5e-9]], [[0.0]], []):\n    try:\n        print(matrix, solve(matrix, [1.0] * len(matrix)))\n    except SingularError as error:\n        print(matrix, 'SingularError', error)\nEOF"
        ),
    ),
    say(
        "Not fair. Dividing each row by its own largest entry first makes the test independent of units of the rows (columns would still matter: a variable in another unit). I scale rows by powers of two, which costs no digits, and judge a pivot against the largest entry of its own column. Let me write it and try both kinds.",
        bash(
            r'''cat > numerics/linear.py <<'EOF'
"""Linear systems."""

import math


class SingularError(ArithmeticError):
    """A system without a unique solution."""


def solve(matrix, right):
    """Return x with matrix · x = right; Gaussian elimination with row exchanges.

    Raises SingularError if what is left of a column is nothing but rounding.
    """
    n = len(right)
    rows = [_scaled([*row, value]) for row, value in zip(matrix, right)]
    sizes = [max(abs(row[column]) for row in rows) for column in range(n)]
    for column in range(n):
        best = max(range(column, n), key=lambda i: abs(rows[i][column]))
        rows[column], rows[best] = rows[best], rows[column]
        pivot = rows[column][column]
        if abs(pivot) <= n * 1e-15 * sizes[column]:
            raise SingularError(f"column {column} depends on the columns before it")
        for below in range(column + 1, n):
            factor = rows[below][column] / pivot
            for k in range(column, n + 1):
                rows[below][k] -= factor * rows[column][k]
    x = [0.0] * n
    for i in reversed(range(n)):
        x[i] = (rows[i][n] - sum(rows[i][k] * x[k] for k in range(i + 1, n))) / rows[i][i]
    return x


def _scaled(row):
    """Return a row times a power of two that makes its largest coefficient about 1; no digit changes."""
    largest = max(abs(value) for value in row[:-1])
    exponent = math.frexp(largest)[1]
    return [math.ldexp(float(value), -exponent) for value in row]
EOF
python - <<'EOF'
from numerics.linear import SingularError, solve
for matrix in ([[1e9, 0], [0, 1e-9]], [[1e9, 2e9], [1e-9, 5e-9]], [[1, 1e-12], [1, 2e-12]], [[0.1, 0.2], [0.3, 0.6]], [[0.0]], [[1, 2, 3], [4, 5, 6], [7, 8, 9]]):
    try:
        print(matrix, solve(matrix, [1.0] * len(matrix)))
    except SingularError as error:
        print(matrix, 'SingularError', error)
EOF
python -m pytest -q 2>&1 | tail -n 1 '''
        ),
    ),
    say(
        "Now the promise: relative residual below 1e-12 for well-conditioned systems. Random ones, checked with fractions.",
        bash(
            "python - <<'EOF'\nimport random\nfrom fractions import Fraction\nfrom numerics.linear import solve\nrng = random.Random(1)\nworst = 0\nfor _ in range(150):\n    n = rng.randrange(1, 13)\n    matrix = [[rng.uniform(-1, 1) for _ in range(n)] for _ in range(n)]\n    right = [rng.uniform(-1, 1) for _ in range(n)]\n    x = solve(matrix, right)\n    for row, r in zip(matrix, right):\n        residual = abs(float(sum(Fraction(m) * Fraction(v) for m, v in zip(row, x)) - Fraction(r)))\n        worst = max(worst, residual / (max(map(abs, right)) + max(map(abs, x))))\nprint(f'{worst:.1e}')\nEOF"
        ),
    ),
    say(
        "1e-15 or so. Next the spline: in the row of the matrix, the entry to the right has to be the distance after, not before; with equal distances nobody notices. And outside the tangent must go on straight, while the code continues the cubic.",
        bash(
            "sed -i 's/matrix\\[i\\]\\[i + 1\\] = before/matrix[i][i + 1] = after/' numerics/spline.py; python - <<'EOF'\nimport math\nfrom numerics.spline import Spline\nxs = [0, 0.3, 0.9, 1.4, 2.2, 2.6, math.pi]\ns = Spline(xs, [math.sin(x) for x in xs])\nprint('error', max(abs(s(x / 100) - math.sin(x / 100)) for x in range(315)))\nh = 1e-4\nfor knot in xs[1:-1]:\n    left = (s(knot) - 2 * s(knot - h) + s(knot - 2 * h)) / h**2\n    right = (s(knot + 2 * h) - 2 * s(knot + h) + s(knot)) / h**2\n    print(knot, round(left, 3), round(right, 3))\nEOF"
        ),
    ),
    think(
        "The second derivative is continuous at the knots, so it is the right system. Now the extrapolation: slope at an end. For the left: ys diff/h - h/6*(2*m0+m1); m0=0 → minus h*m1/6. Right: diff/h + h/6*(2*mn + m(n-1)) with mn = 0.",
        replacing(
            "numerics/spline.py",
            (
                "        i = 0\n        while i < len(self.xs) - 2 and x > self.xs[i + 1]:\n            i += 1\n",
                "        if x < self.xs[0]:\n            return self.ys[0] + self._slope(0, -1) * (x - self.xs[0])\n        if x > self.xs[-1]:\n            return self.ys[-1] + self._slope(len(self.xs) - 2, 1) * (x - self.xs[-1])\n        i = min(bisect_left(self.xs, x, 1), len(self.xs) - 1) - 1\n",
            ),
            (
                "    def __call__(self, x):",
                '    def _slope(self, i, side):\n        """Return the slope at an end of the curve, in its piece i; side is -1 for its left end, 1 for its right."""\n        h = self.xs[i + 1] - self.xs[i]\n        inner = self.second[i + 1] if side < 0 else self.second[i]\n        return (self.ys[i + 1] - self.ys[i]) / h + side * h * inner / 6\n\n    def __call__(self, x):',
            ),
            (
                "from numerics.linear import solve\n",
                "from bisect import bisect_left\n\nfrom numerics.linear import solve\n",
            ),
            then="python -m pytest -q 2>&1 | tail -n 7 | cut -c1-110",
        ),
    ),
    say(
        "Spline passes. Few points, points that do not increase, and a comparison of slopes on both sides of the ends:",
        bash(
            "python - <<'EOF'\nfrom numerics.spline import Spline\ns = Spline([0, 1, 2.5, 3], [0, 1, 0, 1])\nh = 1e-6\nfor end in (0, 3):\n    print('slopes', round((s(end) - s(end - h)) / h, 5), round((s(end + h) - s(end)) / h, 5))\nfor xs, ys in (([1], [5]), ([0, 1], [0, 2]), ([], []), ([0, 0, 1], [1, 2, 3]), ([1, 0], [0, 1])):\n    try:\n        s = Spline(xs, ys)\n        print(xs, s(0.5), s(-1), s(2))\n    except Exception as error:\n        print(xs, type(error).__name__, error)\nEOF"
        ),
    ),
    say(
        "Two points give the line. Fewer, or points that do not increase, end in IndexError or ZeroDivisionError, or pass silently; the docstring says 'points with increasing x', so a ValueError is what a caller can use.",
        replacing(
            "numerics/spline.py",
            (
                "        self.xs, self.ys = list(xs), list(ys)\n",
                '        self.xs, self.ys = list(xs), list(ys)\n        if len(self.xs) < 2 or len(self.xs) != len(self.ys):\n            raise ValueError(f"expected as many x as y, two at least, found {len(self.xs)} and {len(self.ys)}")\n        if any(left >= right for left, right in zip(self.xs, self.xs[1:])):\n            raise ValueError("x must increase from point to point")\n',
            ),
            then='python -c "\nfrom numerics.spline import Spline\nfor xs in ([1], [0, 0, 1], [1, 0]):\n    try: Spline(xs, list(range(len(xs))))\n    except ValueError as e: print(e)"',
        ),
    ),
    say(
        "Integration. Each half gets the whole tolerance, so the errors add up; and at depth 20 the result is returned as if it were good. Simpson's error after halving is about a fifteenth of the difference, which makes the criterion too strict by 15 for smooth functions and gives a correction for free. There is one more danger: a function that is 0 at all sampled points.",
        bash(
            "python - <<'EOF'\nimport math\nfrom numerics.integrate import integrate\ncalls = []\ndef f(x):\n    calls.append(x)\n    return math.sin(8 * x) ** 2\nprint(integrate(f, 0, math.pi), 'exact', math.pi / 2, 'calls', len(calls))\nprint(integrate(lambda x: 1 if x > 0.3 else 0, 0, 1, 1e-12))\nprint(integrate(lambda x: math.exp(-((x - 0.7) * 200) ** 2), 0, 1), math.sqrt(math.pi) / 200)\nEOF"
        ),
    ),
    say(
        "sin² comes out as nought, and a narrow peak is missed entirely. No method that samples can be safe from that, but starting with pieces of unequal length makes coincidences unlikely, and a few levels of compulsory halving find peaks of ordinary width. I use 7 pieces at irrational positions and 3 compulsory levels; values are handed down instead of computed again.",
        bash(
            r'''cat > numerics/integrate.py <<'EOF'
"""Integrals."""

import math

DEEPEST = 20
ALWAYS = 3  # levels that are halved whatever the estimate says
PIECES = 7


class ToleranceError(ArithmeticError):
    """The wanted accuracy was not reached."""


def integrate(f, a, b, tolerance=1e-10):
    """Return the integral of f from a to b; adaptive Simpson rule.

    Raises ToleranceError if some part does not reach its share of the tolerance in DEEPEST bisections. What lies
    between all sampled points cannot be seen; a peak should be wider than a hundredth of the interval.
    """
    # Pieces of unequal length: with equal ones, periodic functions may be sampled at their noughts only.
    marks = [0.0, *sorted((number * (math.sqrt(5) - 1) / 2) % 1 for number in range(1, PIECES)), 1.0]
    places = [a + mark * (b - a) for mark in marks]
    return math.fsum(
        _piece(f, left, right, tolerance * (after - before))
        for left, right, before, after in zip(places, places[1:], marks, marks[1:])
    )


def _piece(f, a, b, tolerance):
    middle = (a + b) / 2
    values = f(a), f(middle), f(b)
    return _adaptive(f, (a, middle, b), values, _simpson(b - a, values), tolerance, 0)


def _simpson(width, values):
    return width / 6 * (values[0] + 4 * values[1] + values[2])


def _adaptive(f, places, values, whole, tolerance, depth):
    a, middle, b = places
    lower, upper = (a + middle) / 2, (middle + b) / 2
    left_values, right_values = (values[0], f(lower), values[1]), (values[1], f(upper), values[2])
    left, right = _simpson(middle - a, left_values), _simpson(b - middle, right_values)
    # The error of the halves is about a fifteenth of the difference; the estimate is used with a margin.
    difference = left + right - whole
    if depth >= ALWAYS and abs(difference) <= 5 * tolerance:
        return left + right + difference / 15
    if depth == DEEPEST:
        raise ToleranceError(f"between {a} and {b} the error is about {abs(difference) / 15:.1g}, not {tolerance:.1g}")
    return _adaptive(f, (a, lower, middle), left_values, left, tolerance / 2, depth + 1) + _adaptive(
        f, (middle, upper, b), right_values, right, tolerance / 2, depth + 1
    )
EOF
python -m pytest -q 2>&1 | tail -n 6 | cut -c1-110
python - <<'EOF'
import math
from numerics.integrate import ToleranceError, integrate
for f, a, b, exact in ((lambda x: math.sin(8 * x) ** 2, 0, math.pi, math.pi / 2), (lambda x: math.exp(-((x - 0.7) * 200) ** 2), 0, 1, math.sqrt(math.pi) / 200),
                       (lambda x: abs(x - 1 / 3), 0, 1, 5 / 18), (math.sqrt, 0, 1, 2 / 3), (math.exp, 1, 0, 1 - math.e), (lambda x: 1 if x > 0.3 else 0, 0, 1, 0.7), (math.exp, 2, 2, 0)):
    for tolerance in (1e-6, 1e-10, 1e-13):
        calls = []
        try:
            value = integrate(lambda x: calls.append(x) or f(x), a, b, tolerance)
            print(f'{tolerance:.0e} error {abs(value - exact):.1e} calls {len(calls)}', end='; ')
        except ToleranceError as error:
            print(f'{tolerance:.0e} ToleranceError calls {len(calls)}', end='; ')
    print()
EOF'''
        ),
    ),
    say(
        "All errors are below the tolerance or refused. Refused are the jump and, at a fine tolerance, the kink; the root function even at 1e-6, since its trouble sits in one point, where the share of the tolerance becomes tiny. None of them is smooth, so the promise holds.\n\n"
        "Roots. The false position keeps one end for ever when the function is bent; and `abs(fx) < 1e-12` is no error in x: for x⁹ it stops at 0.05, for 1e-14·(x−3) it would stop anywhere. What does it do now?",
        bash(
            "python - <<'EOF'\nimport math\nfrom numerics.roots import root\nfor name, f, a, b in (('x^9', lambda x: x**9, -1, 1.5), ('exp', lambda x: math.exp(x) - 1e-8, -40, 1), ('tiny', lambda x: 1e-14 * (x - 3) ** 3, 0, 10), ('at a', lambda x: x, 0, 1), ('jump', lambda x: 1 if x > 2 else -1, 0, 10), ('wide', lambda x: x - 1, -1e300, 1e301)):\n    calls = []\n    try:\n        x = root(lambda x: calls.append(x) or f(x), a, b)\n        print(name, x, len(calls))\n    except Exception as error:\n        print(name, type(error).__name__, error)\nEOF"
        ),
    ),
]
