"""What can go wrong."""


class CalcError(Exception):
    """An error at a place in an expression: `line:column: message`."""

    def __init__(self, place, message):
        super().__init__(f"{place[0]}:{place[1]}: {message}")
        self.place = place
