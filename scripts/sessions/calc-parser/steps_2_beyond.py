"""The session goes on: what no test covers."""

from steps import act, bash, each, edit, say

STEPS = [
    say(
        "The listed tests pass. Now the second part: what no test covers. I will feed it everything I can think of and look at what comes out.",
        bash(r"""python - <<'EOF' 2>&1 | cut -c1-130
from decimal import Decimal
from calc.evaluate import evaluate
from calc.parse import parse
texts = ['', '   ', '# nothing', '1 # one', '1 # a\n+ 1', '1\r\n+ 2', 'foo(1)', 'min()', 'min(3)', 'round(1.5)', 'round(2.5, 0)', 'round(1.5, 0.5)', 'round(1, 99)', 'floor(-1.5)', 'ceil(2.0)',
         'ceil(2.1)', 'if(0, 1/0, 2)', 'if(1)', '1/0', '0/0', '5 % 0', '-5 % 3', '0^-1', '0^0', '(-8)^(1/3)', '9e999999 * 9e999999', '2^1e9', '1/3*3', '1e', '1.', '1..2', '1 2', 'min', 'min + 1',
         'and', 'not', '((((1))))', ')', '(', '?:', '1 ? 2', 'ä + 1', 'x²', '٣ + 1', '1_000', 'a.b', '"x"', 'abs(-1, 2)', '2 and 3', 'not 5', '1 = 1.0', '- - 1', '2 - -3', '1 <> 2', '10 % 4 % 3', 'a ? 1 : b ? 2 : 3']
for text in texts:
    try:
        result = evaluate(parse(text), {'a': Decimal(0), 'b': Decimal(1)})
    except Exception as error:
        result = f'{type(error).__name__}: {error}'
    print(f'{text!r:<26} {result}')
EOF"""),
    ),
    say(
        "A good list. Tracebacks: unknown functions (KeyError), wrong numbers of arguments (TypeError), division by 0, powers and overflow (decimal exceptions), odd digits. Wrong values: `ceil(2.0)` is 3, `floor(-1.5)` is -1, `-5 % 3` (Decimal takes the sign of the dividend; README says nothing, so it stays), `if` as a function "
        "is not lazy. `1/3*3` is 0.999… with 28 digits; exact fractions would need another number type; README says 'Numbers are decimal fractions (exact)', which a third is not.\nFunctions first: name → (function, smallest, largest number of arguments).",
        edit(
            "calc/evaluate.py",
            """FUNCTIONS = {
    "min": min,
    "max": max,
    "abs": abs,
    "round": lambda x, digits: x.quantize(Decimal(1).scaleb(-int(digits)), rounding=ROUND_HALF_UP),
    "floor": lambda x: Decimal(int(x)),
    "ceil": lambda x: Decimal(int(x)) + 1,
    "if": lambda c, a, b: a if c else b,
}
""",
            """# Name: function, smallest and largest number of arguments.
FUNCTIONS = {
    "min": (lambda *values: min(values), 1, None),
    "max": (lambda *values: max(values), 1, None),
    "abs": (abs, 1, 1),
    "round": (lambda x, digits: x.quantize(Decimal(1).scaleb(-_whole(digits)), rounding=ROUND_HALF_UP), 2, 2),
    "floor": (lambda x: x.to_integral_value(ROUND_FLOOR), 1, 1),
    "ceil": (lambda x: x.to_integral_value(ROUND_CEILING), 1, 1),
    "if": (None, 3, 3),
}
""",
        ),
    ),
    act(
        edit(
            "calc/evaluate.py",
            "from decimal import ROUND_HALF_UP, Decimal\n",
            "from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal, DecimalException\n",
        )
    ),
    say(
        "Where should a wrong function or count be reported? At the name, and best when parsing, since it does not depend on values; but then parse depends on the functions. A tree may be parsed once and evaluated often, and an editor wants such errors at once. Still the modules are separate: parse knows syntax only. I keep it in evaluate. "
        "Decimal exceptions become a CalcError at the operator.",
        edit(
            "calc/evaluate.py",
            """        function = FUNCTIONS[parts[0]]
        return function(*(evaluate(part, names) for part in parts[1:]))
""",
            """        return _call(place, parts[0], parts[1:], names)
""",
        ),
    ),
    act(
        edit(
            "calc/evaluate.py",
            """    return BINARY[operation](*values)
""",
            '''    return _guarded(place, BINARY[operation], values)


def _call(place, name, parts, names):
    if name not in FUNCTIONS:
        raise CalcError(place, f"there is no function {name}, only {', '.join(sorted(FUNCTIONS))}")
    function, least, most = FUNCTIONS[name]
    if len(parts) < least or (most is not None and len(parts) > most):
        wanted = f"{least} or more" if most is None else str(least)
        raise CalcError(place, f"{name} takes {wanted} arguments, found {len(parts)}")
    if name == "if":
        return evaluate(("if", place, *parts), names)
    return _guarded(place, function, [evaluate(part, names) for part in parts])


def _guarded(place, function, values):
    """Call a function; what decimals cannot do becomes an error at `place`."""
    try:
        return function(*values)
    except (DecimalException, ValueError, OverflowError) as error:
        raise CalcError(place, f"cannot compute this for {', '.join(map(str, values))}") from error


def _whole(number):
    if number != int(number):
        raise ValueError
    return int(number)
''',
        ),
        bash(
            "python -m pytest -q 2>&1 | tail -n 1; for e in '1/0' '0^-1' 'foo(1)' 'min()' 'round(1.5)' 'round(1.5, 0.5)' 'ceil(2.0)' 'ceil(-2.5)' 'floor(-1.5)' 'if(0, 1/0, 2)' '9e999999 * 9e999999' '(-8)^(1/3)' 'round(1, 99)' '0^0'; do echo \"$e -> $(python -m calc \"$e\" 2>&1 | tail -n 1)\"; done"
        ),
    ),
    say(
        "Better, but 0^-1 is `Infinity` and no error: decimals allow that. A result that is not finite cannot be computed.",
        edit(
            "calc/evaluate.py",
            "        return function(*values)\n    except",
            "        result = function(*values)\n        if not result.is_finite():\n            raise OverflowError\n        return result\n    except",
        ),
    ),
    say(
        "`min(x)` with one argument works too. Now 2^1e9: does it end, and what about deep nesting and very long numbers?",
        bash(
            "for e in '2^1e9' '1e99999999' '9^9^9^9'; do echo \"$e -> $(timeout 10 python -m calc \"$e\" 2>&1 | tail -n 1 | cut -c1-90)\"; done; python - <<'EOF'\nfrom calc.parse import parse\nfrom calc.evaluate import evaluate\nfor text in ('(' * 2000 + '1' + ')' * 2000, '-' * 3000 + '1', '1' + '+1' * 5000, '2' + '^1' * 2000, 'not ' * 2000 + '1'):\n    try:\n        print(text[:8], evaluate(parse(text), {}))\n    except BaseException as error:\n        print(text[:8], type(error).__name__, str(error)[:60])\nEOF"
        ),
    ),
    say(
        "Deep nesting ends in RecursionError, and `1+1+…` too, because the tree leans to the left and evaluate recurses. A user can type that, or a program generates it. A limit with an error at a place is the honest answer: depth of nesting in the parser. For chains the depth of the tree counts, so I measure the tree rather than the parser: "
        "each `_chain` link adds one. Simple: a limit on nesting in the recursive functions of the parser, and evaluating left-leaning chains in a loop.",
        edit(
            "calc/evaluate.py",
            """    values = [evaluate(part, names) for part in parts]
    if operation == "not":""",
            """    if operation in BINARY:
        return _chain(tree, names)
    values = [evaluate(part, names) for part in parts]
    if operation == "not":""",
        ),
    ),
    act(
        edit(
            "calc/evaluate.py",
            """    if operation in ("negative", "positive"):
        return -values[0] if operation == "negative" else values[0]
    return _guarded(place, BINARY[operation], values)
""",
            '''    return -values[0] if operation == "negative" else values[0]


def _chain(tree, names):
    """Evaluate a binary operation. Sums of many parts lean to the left, so that side is followed in a loop."""
    links = []
    while tree[0] in BINARY:
        links.append(tree)
        tree = tree[2]
    value = evaluate(tree, names)
    for operation, place, _, right in reversed(links):
        value = _guarded(place, BINARY[operation], [value, evaluate(right, names)])
    return value
''',
        ),
        bash(
            "python -m pytest -q 2>&1 | tail -n 1; python - <<'EOF'\nfrom calc.parse import parse\nfrom calc.evaluate import evaluate\nprint(evaluate(parse('1' + '+1' * 5000), {}), evaluate(parse('100' + '-1' * 30 + '*2^2'), {}))\nEOF"
        ),
    ),
    *each(
        "Chains are fine. `and`/`or` chains lean left as well, 5,000 of them would recurse; they go through the same limit as everything else, if I count the depth of the tree. Where do all recursive ways of the parser pass? `expression`, `_not`, `_sign`: each cycle of the grammar goes through one of them. I count there.",
        edit(
            "calc/parse.py",
            "class Parser:\n    def __init__(self, found):\n        self._tokens = found\n        self._at = 0\n",
            'DEEPEST = 60\n\n\nclass Parser:\n    def __init__(self, found):\n        self._tokens = found\n        self._at = 0\n        self._depth = 0\n\n    def _nested(self, part):\n        """Parse a part one level deeper. Every cycle of the grammar passes here."""\n        if self._depth == DEEPEST:\n            raise CalcError(self._next.place, f"nested more than {DEEPEST} deep")\n        self._depth += 1\n        tree = part()\n        self._depth -= 1\n        return tree\n',
        ),
        edit(
            "calc/parse.py",
            '        yes = self.expression()\n        self.expect(":")\n        return ("if", mark.place, condition, yes, self.expression())',
            '        yes = self._nested(self.expression)\n        self.expect(":")\n        return ("if", mark.place, condition, yes, self._nested(self.expression))',
        ),
        edit(
            "calc/parse.py",
            '            return ("not", sign.place, self._not())',
            '            return ("not", sign.place, self._nested(self._not))',
        ),
        edit(
            "calc/parse.py",
            '"positive", sign.place, self._sign())',
            '"positive", sign.place, self._nested(self._sign))',
        ),
        edit(
            "calc/parse.py",
            '        return ("^", sign.place, base, self._sign()) if sign else base',
            '        return ("^", sign.place, base, self._nested(self._sign)) if sign else base',
        ),
        edit(
            "calc/parse.py",
            '                arguments.append(self.expression())\n                while self._accept(","):\n                    arguments.append(self.expression())',
            '                arguments.append(self._nested(self.expression))\n                while self._accept(","):\n                    arguments.append(self._nested(self.expression))',
        ),
        edit(
            "calc/parse.py",
            '            tree = self.expression()\n            self.expect(")")',
            '            tree = self._nested(self.expression)\n            self.expect(")")',
        ),
        bash(
            "python -m pytest -q 2>&1 | tail -n 1; python - <<'EOF'\nfrom calc.parse import parse\nfrom calc.evaluate import evaluate\nfor text in ('(' * 59 + '1' + ')' * 59, '(' * 2000 + '1' + ')' * 2000, '-' * 3000 + '1', '2' + '^1' * 2000, 'not ' * 2000 + '1', '1' + ' and 1' * 5000, '1?1:' * 100 + '1', 'min(' * 100 + '1'):\n    try:\n        print(text[:8], evaluate(parse(text), {}))\n    except BaseException as error:\n        print(text[:8], type(error).__name__, str(error)[:60])\nEOF"
        ),
    ),
    say(
        "Only the long `and` chain is left. The same loop handles it if it is told about the laziness: a chain of `and` stops at the first 0.",
        edit(
            "calc/evaluate.py",
            """    if operation in ("and", "or"):
        left = bool(evaluate(parts[0], names))
        decided = left == (operation == "or")
        return Decimal(left if decided else bool(evaluate(parts[1], names)))
""",
            """    if operation in ("and", "or"):
        # As in _chain: many parts lean to the left.
        needed = []
        while tree[0] == operation:
            needed.append(tree[3])
            tree = tree[2]
        decisive = operation == "or"
        values = (bool(evaluate(part, names)) for part in [tree, *reversed(needed)])
        return Decimal(decisive if any(value == decisive for value in values) else not decisive)
""",
        ),
    ),
    act(
        bash(
            "python -m pytest -q 2>&1 | tail -n 1; python - <<'EOF'\nfrom calc.parse import parse\nfrom calc.evaluate import evaluate\nfor text in ('1' + ' and 1' * 5000, '0' + ' or 0' * 5000 + ' or 7', '0 and 1/0 or 3', '1 or 1/0', '1 and 0 and 1/0', '0 or 0 and 1/0 or 0'):\n    print(text[:20], evaluate(parse(text), {}))\nEOF"
        )
    ),
    say(
        "Next the command line: `NAME=VALUE` with a wrong value or no `=`, and a missing expression.",
        bash(
            "python -m calc 'a' 'a=x' 2>&1 | tail -n 1; python -m calc 'a' 'a' 2>&1 | tail -n 1; python -m calc 2>&1 | tail -n 1; python -m calc 'größe*2' 'größe=1.5'; python -m calc 'a' 'a=NaN'; python -m calc '٣ + 1'; python -m calc 'x²' 'x²=3' 2>&1 | tail -n 1"
        ),
    ),
]
