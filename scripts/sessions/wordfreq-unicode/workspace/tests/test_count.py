from wordfreq.tokens import words


def test_words_are_lower_case():
    assert words("The cat, the HAT!") == ["the", "cat", "the", "hat"]
