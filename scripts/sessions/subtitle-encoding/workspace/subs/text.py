"""Comparing, measuring and wrapping text."""


def same(left, right):
    """Return whether two texts are the same but for case and form."""
    return key(left) == key(right)


def key(text):
    """Return what `find` compares."""
    return text.lower()


def width(text):
    """Return how many columns a terminal needs for the text."""
    return len(text)


def wrap(text, columns):
    """Return lines of at most `columns`; a longer word stands alone."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if width(longer) > columns and lines[-1]:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines
