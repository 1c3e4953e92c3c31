import math
import random
from fractions import Fraction

import pytest

from numerics.integrate import integrate
from numerics.linear import SingularError, solve
from numerics.roots import root
from numerics.running import Running
from numerics.series import exp_minus_one, hypotenuse, log_one_plus
from numerics.spline import Spline


def residual(matrix, right):
    x = solve(matrix, right)
    worst = max(abs(sum(Fraction(m) * Fraction(v) for m, v in zip(row, x)) - Fraction(r)) for row, r in zip(matrix, right))
    return float(worst) / max(abs(r) for r in right)


def test_a_system_with_a_nought_on_its_diagonal_is_solved():
    assert solve([[0, 1], [1, 0]], [2, 3]) == [3, 2]


def test_a_small_pivot_costs_no_digits():
    assert residual([[1e-17, 1.0], [1.0, 1.0]], [1.0, 2.0]) < 1e-12


def test_a_singular_system_is_refused():
    with pytest.raises(SingularError):
        solve([[1, 2], [2, 4]], [1, 2])


def test_a_spline_passes_through_its_points_and_follows_the_sine():
    xs = [0, 0.3, 0.9, 1.4, 2.2, 2.6, math.pi]
    spline = Spline(xs, [math.sin(x) for x in xs])
    assert [spline(x) for x in xs] == pytest.approx([math.sin(x) for x in xs])
    assert max(abs(spline(x / 100) - math.sin(x / 100)) for x in range(315)) < 2e-3


def test_outside_of_its_points_a_spline_is_straight():
    spline = Spline([0, 1, 2, 3], [0, 1, 0, 1])
    assert spline(5) - spline(4) == pytest.approx(spline(4) - spline(3))


@pytest.mark.parametrize(
    ("f", "a", "b", "exact"),
    [(math.exp, 0, 1, math.e - 1), (lambda x: 1 / (1 + 100 * x * x), -1, 1, math.atan(10) / 5), (lambda x: math.sin(8 * x), 0, math.pi, 0.0)],
)
def test_an_integral_is_as_exact_as_wanted(f, a, b, exact):
    for tolerance in (1e-4, 1e-8, 1e-11):
        assert abs(integrate(f, a, b, tolerance) - exact) < tolerance


@pytest.mark.parametrize(
    ("f", "a", "b", "exact"),
    [(lambda x: x * x - 2, 0, 2, math.sqrt(2)), (lambda x: x**9, -1, 1.5, 0.0), (lambda x: math.exp(x) - 1e-8, -40, 1, math.log(1e-8)), (lambda x: 1e-14 * (x - 3), 0, 10, 3.0)],
)
def test_a_root_is_found_with_few_evaluations(f, a, b, exact):
    calls = []
    x = root(lambda x: calls.append(x) or f(x), a, b)
    assert abs(x - exact) < 1e-12 * max(1, abs(exact))
    assert len(calls) <= 60


def test_the_variance_of_large_values_is_exact():
    rng, running = random.Random(5), Running()
    values = [1e6 + rng.gauss(0, 1) for _ in range(20_000)]
    for value in values:
        running.add(value)
    mean = sum(map(Fraction, values)) / len(values)
    exact = float(sum((Fraction(value) - mean) ** 2 for value in values) / (len(values) - 1))
    assert running.variance == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("x", [1e-20, 1e-9, -1e-9, 1e-5, 0.5, -0.5, 3.0])
def test_small_arguments_keep_their_digits(x):
    assert exp_minus_one(x) == pytest.approx(math.expm1(x), rel=1e-14)
    assert log_one_plus(x) == pytest.approx(math.log1p(x), rel=1e-14)


def test_a_hypotenuse_does_not_overflow():
    assert hypotenuse(3e200, 4e200) == pytest.approx(5e200)
    assert hypotenuse(3e-200, 4e-200) == pytest.approx(5e-200)
