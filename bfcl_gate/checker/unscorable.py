"""Answers on which a reference's own scorer would raise: wrong here, with an error type of ours."""

ARGUMENTS_NOT_AN_OBJECT = "gate_error:arguments_not_an_object"
"""MLPerf hands null, numbers and lists on to a checker that expects an object."""

NUMBER_OUT_OF_RANGE = "gate_error:number_out_of_range"
"""An integer too large for the float, or with more digits than the integer, that it is to become."""

NOT_JSON = "gate_error:not_json"
"""A value that is no JSON, such as a set, where the reference writes JSON."""

NOT_COMPARABLE = "gate_error:not_comparable"
"""A value of a shape that the comparison does not expect, such as a number among objects."""


class UnscorableError(Exception):
    """The reference's scorer dies on this answer. Never leaves the checker.

    `error` is one of the types above.
    """

    def __init__(self, error: str) -> None:
        super().__init__(error)
        self.error = error
