"""The session goes on: the command line, random input and the tests."""

from steps import act, bash, each, edit, say, write

STEPS = [
    say(
        "The values of names are an interface of the program, not of the language; README calls for nothing there, but a traceback is a traceback. NaN and Infinity as values would break comparisons, so they are refused. `٣` (an Arabic three) is refused as a number since the pattern has 0-9; as part of a name it is allowed, 'digits' by README. Fine.",
        write(
            "calc/__main__.py",
            """import sys
from decimal import Decimal, InvalidOperation

from calc.errors import CalcError
from calc.evaluate import evaluate
from calc.parse import parse


def main(arguments):
    if not arguments:
        print("usage: python -m calc EXPRESSION [NAME=VALUE ...]", file=sys.stderr)
        return 2
    names = {}
    for argument in arguments[1:]:
        name, _, value = argument.partition("=")
        try:
            names[name] = Decimal(value)
        except InvalidOperation:
            names[name] = Decimal("nan")
        if not names[name].is_finite():
            print(f"{argument!r}: expected NAME=NUMBER", file=sys.stderr)
            return 2
    try:
        print(evaluate(parse(arguments[0]), names))
    except CalcError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


sys.exit(main(sys.argv[1:]))
""",
        ),
    ),
    act(bash("for a in 'a a=x' 'a a' 'a a=NaN' 'a a=2' ''; do python -m calc $a; echo \"exit $?\"; done")),
    say(
        "A random test against Python's own parser shows errors in precedence that examples do not: expressions over + - * ^ and comparisons mean the same in Python with ** for ^.",
        bash("""python - <<'EOF'
import random
from decimal import Decimal as D
from calc.errors import CalcError
from calc.evaluate import evaluate
from calc.parse import parse
rng = random.Random(3)
def make(depth):
    kind = rng.randrange(7) if depth else 0
    if kind < 2: return str(rng.randrange(4))
    if kind == 2: return '(' + make(depth - 1) + ')'
    if kind == 3: return '-' + make(depth - 1)
    if kind == 4: return make(depth - 1) + '^' + rng.choice(['2', '-1', '1^2'])
    return make(depth - 1) + rng.choice([' + ', ' - ', ' * ', ' / ']) + make(depth - 1)
same = refused = 0
for _ in range(4000):
    text = make(4)
    try:
        ours = evaluate(parse(text), {})
    except CalcError:
        ours = None
    import re
    try:
        theirs = eval(re.sub(r'(\\d+)', r"D('\\1')", text).replace('^', '**'))
    except Exception:
        theirs = None
    assert ours == theirs, (text, ours, theirs)
    same += ours is not None; refused += ours is None
print(same, 'same values,', refused, 'refused by both')
EOF"""),
    ),
    say(
        "And random characters: nothing but a value or a CalcError may come out.",
        bash("""python - <<'EOF'
import random
from collections import Counter
from calc.errors import CalcError
from calc.evaluate import evaluate
from calc.parse import parse
from decimal import Decimal
rng = random.Random(4)
words = ['1', '2.5', '.5', '1e3', 'a', 'ä9', 'min', 'if', 'round', 'and', 'or', 'not', '(', ')', ',', '+', '-', '*', '/', '%', '^', '<', '<=', '=', '!=', '?', ':', '\\n', '# x\\n', ' ', '$', '0']
seen = Counter()
for _ in range(20000):
    text = ' '.join(rng.choice(words) for _ in range(rng.randrange(9)))
    try:
        evaluate(parse(text), {'a': Decimal(2)})
        seen['value'] += 1
    except CalcError:
        seen['error'] += 1
    except Exception as error:
        seen[type(error).__name__, text] += 1
print(seen.most_common(6))
EOF"""),
    ),
    act(
        write(
            "tests/test_more.py",
            """import subprocess
import sys
from decimal import Decimal as D

import pytest
from test_calc import error, value


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("ceil(2.0)", "2"), ("ceil(2.1)", "3"), ("ceil(-2.5)", "-2"), ("floor(-1.5)", "-2"), ("floor(2)", "2"),
        ("round(2.5, 0)", "3"), ("round(0.125, 2)", "0.13"), ("min(3)", "3"), ("max(1, 5, 2)", "5"), ("abs(-1)", "1"),
        ("if(0, 1/0, 2)", "2"), ("0 and 1/0", "0"), ("1 or 1/0", "1"), ("2 and 3", "1"), ("0 or 0 and 1/0", "0"),
        ("2^3^2", "512"), ("2^-1", "0.5"), ("-2^2", "-4"), ("(-2)^2", "4"), ("- -1", "1"), ("2 - -3", "5"),
        ("1 >= 2", "0"), ("1 != 2", "1"), ("1 = 1.0", "1"), ("0 ? 1 : 0 ? 2 : 3", "3"), ("1 # one\\n+ 1", "2"),
    ],
)  # fmt: skip
def test_an_expression_has_its_value(text, result):
    assert value(text) == D(result)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1:1: expected a number, a name or '(', found 'end of the expression'"),
        ("1 +\\n\\n  foo(2)", "3:3: there is no function foo, only abs, ceil, floor, if, max, min, round"),
        ("min()", "1:1: min takes 1 or more arguments, found 0"),
        ("2 * round(1.5)", "1:5: round takes 2 arguments, found 1"),
        ("min(1,)", "1:7: expected a number, a name or '(', found ')'"),
        ("1 + 4 / 0", "1:7: cannot compute this for 4, 0"),
        ("0^-1", "1:2: cannot compute this for 0, -1"),
        ("round(1, 0.5)", "1:1: cannot compute this for 1, 0.5"),
        ("1 $ 2", "1:3: unexpected '$'"),
        ("not", "1:4: expected a number, a name or '(', found 'end of the expression'"),
    ],
)
def test_errors_name_their_place(text, message):
    assert error(text) == message


def test_an_operator_of_the_second_line_has_its_column():
    assert error("1\\n  / 0") == "2:3: cannot compute this for 1, 0"


@pytest.mark.parametrize("text", ["(" * 500, "-" * 500 + "1", "2" + "^2" * 500, "not " * 500, "min(" * 500, "1?1:" * 500])
def test_deep_nesting_is_refused(text):
    assert error(text).endswith("nested more than 60 deep")


@pytest.mark.parametrize("link", [" + 1", " and 1", " * 1"])
def test_long_chains_are_no_nesting(link):
    assert value("1" + link * 5000) == (5001 if "+" in link else 1)


@pytest.mark.parametrize(("arguments", "code"), [(["a", "a=2"], 0), (["a"], 1), (["a", "a=x"], 2), (["a", "a"], 2), ([], 2)])
def test_the_command_line_never_ends_in_a_traceback(arguments, code):
    done = subprocess.run([sys.executable, "-m", "calc", *arguments], capture_output=True, text=True)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False)
""",
        )
    ),
    act(bash("python -m pytest -q 2>&1 | grep -E '^E  |passed|failed' | cut -c1-150")),
    say(
        "A RecursionError although nesting is limited to 60: pytest itself stands on the stack, and so may any program that uses calc. How many frames does a level take, and how deep may the stack be?",
        bash(
            "python - <<'EOF'\nimport sys\nfrom calc.errors import CalcError\nfrom calc.parse import parse\ndeepest = 0\ndef hook(frame, event, argument):\n    global deepest\n    depth = 0\n    while frame: frame, depth = frame.f_back, depth + 1\n    deepest = max(deepest, depth)\nsys.setprofile(hook)\ntry: parse('(' * 100)\nexcept CalcError as error: sys.setprofile(None); print(error)\nprint('frames', deepest, 'of', sys.getrecursionlimit())\nEOF"
        ),
    ),
    *each(
        "The grammar takes 16 frames per level. 40 levels need two thirds of the stack and are more than any tariff has.",
        edit("calc/parse.py", "DEEPEST = 60", "DEEPEST = 40  # a level takes 16 frames of the stack"),
        edit("tests/test_more.py", "nested more than 60 deep", "nested more than 40 deep"),
        bash("python -m pytest -q 2>&1 | grep -E '^E  |passed|failed' | cut -c1-150"),
    ),
    say(
        "The package follows the grammar of README.md; all tests pass, 12 of which failed before.\n\n"
        "- tokens.py: `<=`, `>=`, numbers like `.5` and `2e-3`, names of any script with digits, columns from 1 that begin anew in each line.\n"
        "- parse.py: `^` binds tighter than the sign before it and to the right, `not` nests, one comparison only, commas are required. Nesting is limited to 40 levels, with an error at the place.\n"
        "- evaluate.py: `and`, `or`, `?:` and `if` evaluate what they need; floor and ceil were wrong for negative and whole numbers; unknown functions, wrong counts and impossible operations are CalcErrors. Chains of any length work.\n"
        "- The command line answers with exit code 2 for bad names and values.\n\n"
        "Verified: 4,000 random expressions have the value Python gives them; 20,000 random texts give a value or a CalcError.\n\n"
        "Please decide: `-5 % 3` is -2 (sign of the dividend), README is silent; and 1/3*3 is 0.999… with 28 digits."
    ),
]
