"""From words to a ranking."""

from collections import Counter

from wordfreq.tokens import words


def ranking(text, limit):
    """Return the `limit` most frequent words with their counts; ties in alphabetical order."""
    counts = Counter(words(text))
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ranked[: limit - 1]
