"""Builds a tree: tuples of (operation, place, parts …)."""

from decimal import Decimal

from calc.errors import CalcError
from calc.tokens import tokens


def parse(text):
    """Return the tree of an expression. Raises CalcError."""
    parser = Parser(tokens(text))
    tree = parser.expression()
    parser.expect("end of the expression")
    return tree


class Parser:
    def __init__(self, found):
        self._tokens = found
        self._at = 0

    @property
    def _next(self):
        return self._tokens[self._at]

    def _accept(self, *texts):
        token = self._next
        if token.text in texts:
            self._at += 1
            return token
        return None

    def expect(self, text):
        token = self._accept(text)
        if token is None:
            raise CalcError(self._next.place, f"expected {text!r}, found {self._next.text!r}")
        return token

    def expression(self):
        condition = self._or()
        mark = self._accept("?")
        if mark is None:
            return condition
        yes = self.expression()
        self.expect(":")
        return ("if", mark.place, condition, yes, self.expression())

    def _chain(self, part, *signs):
        tree = part()
        while (sign := self._accept(*signs)) is not None:
            tree = (sign.text, sign.place, tree, part())
        return tree

    def _or(self):
        return self._chain(self._and, "or")

    def _and(self):
        return self._chain(self._not, "and")

    def _not(self):
        sign = self._accept("not")
        if sign:
            return ("not", sign.place, self._comparison())
        return self._comparison()

    def _comparison(self):
        return self._chain(self._sum, "<", "<=", ">", ">=", "=", "!=")

    def _sum(self):
        return self._chain(self._product, "+", "-")

    def _product(self):
        return self._chain(self._power, "*", "/", "%")

    def _power(self):
        return self._chain(self._sign, "^")

    def _sign(self):
        sign = self._accept("-", "+")
        if sign:
            return ("negative" if sign.text == "-" else "positive", sign.place, self._sign())
        return self._call()

    def _call(self):
        token = self._next
        if token.kind == "name" and self._tokens[self._at + 1].text == "(":
            self._at += 2
            arguments = []
            while not self._accept(")"):
                arguments.append(self.expression())
                self._accept(",")
            return ("call", token.place, token.text, *arguments)
        return self._atom()

    def _atom(self):
        token = self._next
        self._at += 1
        if token.kind == "number":
            return ("number", token.place, Decimal(token.text))
        if token.kind == "name":
            return ("name", token.place, token.text)
        if token.text == "(":
            tree = self.expression()
            self.expect(")")
            return tree
        raise CalcError(token.place, f"expected a number, a name or '(', found {token.text!r}")
