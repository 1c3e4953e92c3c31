"""The registry of handlers."""

HANDLERS = {}


class Retry(Exception):
    """Raised by a handler whose job should be tried again later."""


def handler(name):
    """Register a function as the handler of jobs of that name."""

    def register(function):
        HANDLERS[name] = function
        return function

    return register


def find(name):
    """Return the handler of a name, or of the longest prefix that ends in a dot.

    >>> _ = handler("mail.")(print)
    >>> find("mail.welcome") is print
    True
    """
    if name in HANDLERS:
        return HANDLERS[name]
    for known in HANDLERS:
        if known.endswith(".") and name.startswith(known):
            return HANDLERS[known]
    raise KeyError(name)
