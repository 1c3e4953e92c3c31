"""Answers on which a reference's own scorer would raise."""


class UnscorableError(Exception):
    """The reference's scorer dies on this answer; here the answer is wrong, with the error type given.

    Never leaves the checker.
    """

    def __init__(self, error: str) -> None:
        super().__init__(error)
        self.error = error


def arguments_not_an_object() -> UnscorableError:
    """MLPerf hands null, numbers and lists to a checker that expects an object."""
    return UnscorableError("gate_error:arguments_not_an_object")


def number_out_of_range() -> UnscorableError:
    """An integer too large for the float (or too long for the integer) it is to become."""
    return UnscorableError("gate_error:number_out_of_range")


def not_json() -> UnscorableError:
    """A value that cannot be written as JSON, such as a set, where the reference writes JSON."""
    return UnscorableError("gate_error:not_json")


def not_comparable() -> UnscorableError:
    """A value or an alternative of a shape that the comparison never expects, such as a number for a dict."""
    return UnscorableError("gate_error:not_comparable")
