"""A parser against its grammar: tokens, places, precedence, lazy operators, error messages; four tools."""

from steps import act, agent, bash, each, edit, read, say

SYSTEM, TOOLS = agent("editor")

TASK = """The expression language of our tariff editor does not follow the grammar in README.md; twelve tests fail. Please repair the package (not the tests), token by
token, and look for further deviations from the README that no test covers. Whatever a user types, the result is a value or a CalcError with line and column;
tracebacks have shown up in production. Add your tests to tests/test_more.py."""

CHECK = (
    "python -m pytest -q && test -f tests/test_more.py && python -m calc '-2^2 + ceil(2.0) + floor(-1.5)' | grep -qx -- '-4' && "
    "for e in '1/0' '0^-1' 'foo(1)' 'min()' 'round(1.5)' '(' '9e999999 * 9e999999' '(-8) ^ 0.5'; do python -m calc \"$e\" 2>&1 | grep -qE '^1:[0-9]+: ' || exit 1; done"
)

STEPS = [
    act(bash("cat README.md; wc -l calc/*.py tests/*.py")),
    act(read("calc/tokens.py"), read("calc/errors.py")),
    act(read("calc/parse.py")),
    act(read("calc/evaluate.py")),
    act(read("tests/test_calc.py")),
    say(
        "The failures with their messages, before I touch anything.",
        bash("python -m pytest -q 2>&1 | grep -E '^E  ' | cut -c1-120"),
    ),
    *each(
        "From the bottom up. Tokens: in the pattern `<` stands before `<=`, so `<=` is never found; numbers need a digit in front and know no sign in the exponent; names are ASCII without digits; columns begin at 0 and are not reset after a line end. "
        "Numbers first.",
        edit(
            "calc/tokens.py",
            "(?P<number>[0-9]+(\\.[0-9]+)?(e[0-9]+)?)",
            "(?P<number>([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(e[-+]?[0-9]+)?)",
        ),
        edit("calc/tokens.py", "(?P<name>[A-Za-z_]+)", "(?P<name>[^\\W\\d]\\w*)"),
        edit(
            "calc/tokens.py", "(?P<sign><|<=|>|>=|!=|[-+*/%^=?:(),])", "(?P<sign><=|>=|!=|[-+*/%^=?:(),<>])"
        ),
    ),
    say(
        "`2e` would now be the number 2 followed by the name `e`; that was so before. `1.` is a number for Decimal, but README shows only `1.5` and `.5`. I will not extend the language.",
        edit("calc/tokens.py", "([0-9]+(\\.[0-9]*)?|", "([0-9]+(\\.[0-9]+)?|"),
    ),
    say(
        "Now the places. The column is the distance from the last line end.",
        edit(
            "calc/tokens.py",
            "    at = 0\n    line, column = 1, 0\n    while at < len(text):\n",
            "    at = 0\n    while at < len(text):\n        place = _place(text, at)\n",
        ),
    ),
    act(
        edit(
            "calc/tokens.py",
            '            raise CalcError((line, column), f"unexpected {text[at]!r}")',
            '            raise CalcError(place, f"unexpected {text[at]!r}")',
        )
    ),
    act(
        edit(
            "calc/tokens.py",
            'word, (line, column)))\n        line += match.group().count("\\n")\n        column += len(match.group())\n        at = match.end()\n    found.append(Token("end", "end of the expression", (line, column)))',
            'word, place))\n        at = match.end()\n    found.append(Token("end", "end of the expression", _place(text, at)))',
        )
    ),
    act(
        edit(
            "calc/tokens.py",
            "def tokens(text):",
            'def _place(text, at):\n    """Return line and column, from 1."""\n    return text.count("\\n", 0, at) + 1, at - text.rfind("\\n", 0, at)\n\n\ndef tokens(text):',
        ),
        bash("python -m pytest -q 2>&1 | tail -n 9"),
    ),
    say(
        "Six are left. Which messages remain?",
        bash("python -m pytest -q 2>&1 | grep -E '^E  |passed' | cut -c1-120"),
    ),
    say(
        "`_place` looks at the whole text for each token, which makes long texts quadratic; an expression of a tariff is short, but let me measure the bad case before deciding.",
        bash(
            "python - <<'EOF'\nimport sys\nfrom calc.tokens import tokens\ncalls = 0\nfor n in (1000, 4000, 16000):\n    text = '1 +\\n' * n\n    size = sum(len(text[:t.place[0]]) for t in tokens(text))\n    print(n, len(text), 'characters,', 'last place', tokens(text)[-1].place)\nEOF"
        ),
    ),
    say(
        "16,000 lines in an instant; count and rfind are C loops. It stays simple. Next the parser: comparison takes one sign only, `not` must nest, and the power has to bind tighter than the sign in front of it and to the right.",
        edit(
            "calc/parse.py",
            '            return ("not", sign.place, self._comparison())\n        return self._comparison()',
            '            return ("not", sign.place, self._not())\n        return self._comparison()',
        ),
    ),
    act(
        edit(
            "calc/parse.py",
            '        return self._chain(self._sum, "<", "<=", ">", ">=", "=", "!=")',
            '        left = self._sum()\n        sign = self._accept("<", "<=", ">", ">=", "=", "!=")\n        return (sign.text, sign.place, left, self._sum()) if sign else left',
        )
    ),
    act(
        edit(
            "calc/parse.py",
            """        return self._chain(self._power, "*", "/", "%")

    def _power(self):
        return self._chain(self._sign, "^")

    def _sign(self):
        sign = self._accept("-", "+")
        if sign:
            return ("negative" if sign.text == "-" else "positive", sign.place, self._sign())
        return self._call()
""",
            """        return self._chain(self._sign, "*", "/", "%")

    def _sign(self):
        sign = self._accept("-", "+")
        if sign:
            return ("negative" if sign.text == "-" else "positive", sign.place, self._sign())
        return self._power()

    def _power(self):
        base = self._call()
        sign = self._accept("^")
        return ("^", sign.place, base, self._sign()) if sign else base
""",
        )
    ),
    say(
        "The exponent is a sign by the grammar, which contains power again: that makes it associate to the right and allows 2^-1. Now the arguments of a call: the comma is optional today, and `min(1,)` is accepted.",
        edit(
            "calc/parse.py",
            '            while not self._accept(")"):\n                arguments.append(self.expression())\n                self._accept(",")\n',
            '            if not self._accept(")"):\n                arguments.append(self.expression())\n                while self._accept(","):\n                    arguments.append(self.expression())\n                self.expect(")")\n',
        ),
    ),
    act(bash("python -m pytest -q 2>&1 | grep -E '^E  |passed' | cut -c1-120")),
    say(
        "Left are the lazy operators. `and`, `or`, `?:` and `if` evaluate everything first. In `evaluate` they have to be taken before the parts are computed.",
        edit(
            "calc/evaluate.py",
            """    values = [evaluate(part, names) for part in parts]
    if operation == "if":
        return values[1] if values[0] else values[2]
""",
            """    if operation == "if":
        return evaluate(parts[1] if evaluate(parts[0], names) else parts[2], names)
    if operation in ("and", "or"):
        left = bool(evaluate(parts[0], names))
        decided = left == (operation == "or")
        return Decimal(left if decided else bool(evaluate(parts[1], names)))
    values = [evaluate(part, names) for part in parts]
""",
        ),
    ),
    act(
        edit(
            "calc/evaluate.py",
            '    "and": lambda a, b: Decimal(bool(a and b)),\n    "or": lambda a, b: Decimal(bool(a or b)),\n',
            "",
        ),
        bash("python -m pytest -q 2>&1 | tail -n 3"),
    ),
]
