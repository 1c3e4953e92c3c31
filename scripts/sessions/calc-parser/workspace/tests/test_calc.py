from decimal import Decimal as D

import pytest

from calc.errors import CalcError
from calc.evaluate import evaluate
from calc.parse import parse


def value(text, **names):
    return evaluate(parse(text), {name: D(str(number)) for name, number in names.items()})


def error(text, **names):
    with pytest.raises(CalcError) as caught:
        value(text, **names)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "result"),
    [("1 + 2 * 3", "7"), ("(1 + 2) * 3", "9"), ("10 - 2 - 3", "5"), ("2 * 3 % 4", "2"), ("0.1 + 0.2", "0.3"), ("1 < 2", "1")],
)
def test_an_expression_has_its_value(text, result):
    assert value(text) == D(result)


@pytest.mark.parametrize(
    ("text", "result"),
    [("2 ^ 3 ^ 2", "512"), ("-2 ^ 2", "-4"), ("2 ^ -1", "0.5"), ("not not 0", "0"), ("1 <= 2", "1"), (".5 + 2e-3", "0.502")],
)
def test_the_grammar_of_the_readme_holds(text, result):
    assert value(text) == D(result)


def test_what_is_not_needed_is_not_evaluated():
    assert value("n > 0 and 10 / n > 1", n=0) == 0
    assert value("n = 0 ? 0 : 10 / n", n=0) == 0


def test_names_may_have_digits_and_letters_of_any_script():
    assert value("größe_2 + 1", größe_2=4) == 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(1 + x", "1:7: expected ')', found 'end of the expression'"),
        ("1 +\n  * 2", "2:3: expected a number, a name or '(', found '*'"),
        ("1 + y", "1:5: y has no value"),
        ("min(1 2)", "1:7: expected ')', found '2'"),
        ("1 < 2 < 3", "1:7: expected 'end of the expression', found '<'"),
    ],
)
def test_errors_name_their_place(text, message):
    assert error(text, x=1) == message
