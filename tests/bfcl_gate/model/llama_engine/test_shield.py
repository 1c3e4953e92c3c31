"""Hiding and revealing texts of control tokens, without a tokenizer."""

from hypothesis import given
from hypothesis import strategies as st

from bfcl_gate.model.llama_engine.shield import Shield

CONTROLS = ("<s>", "<s>x", "</s>", "[INST]", "", "<|a|>", "<|ab|>")
TEXTS = st.text(alphabet="<>s/x[]INST|ab ⸨⸩01", max_size=30)


def plain(shield: Shield, rendered: str) -> list[str]:
    return [text for text, special in shield.parts(rendered) if not special]


def test_text_without_control_tokens_is_left_alone() -> None:
    shield = Shield(CONTROLS)
    assert shield.hide("a < b > c") == "a < b > c"
    assert list(shield.parts("a<s>b")) == [("a<s>b", True)]
    assert shield.count("a<s>b") == 0


def test_the_longest_control_token_is_hidden() -> None:
    shield = Shield(CONTROLS)
    assert plain(shield, shield.hide("<s>xx")) == ["<s>xx"]
    assert shield.count(shield.hide("<s>xx")) == 1


def test_only_the_piece_between_the_templates_own_control_tokens_is_plain() -> None:
    shield = Shield(CONTROLS)
    rendered = f"<s>one</s>[INST]two {shield.hide('</s>')} three</s>four"
    assert list(shield.parts(rendered)) == [
        ("<s>one</s>[INST]", True),
        ("two </s> three", False),
        ("</s>four", True),
    ]


def test_a_vocabulary_without_control_tokens_hides_nothing() -> None:
    assert Shield([]).hide("<s>") == "<s>"
    assert list(Shield([]).parts("<s>")) == [("<s>", True)]


@given(content=TEXTS)
def test_hidden_content_holds_no_control_token_and_comes_back_whole(content: str) -> None:
    shield = Shield(CONTROLS)
    hidden = shield.hide(content)
    assert not any(control in hidden for control in CONTROLS if control)
    rendered = f"<s>{hidden}</s>"
    assert "".join(text for text, _ in shield.parts(rendered)) == f"<s>{content}</s>"


@given(content=TEXTS)
def test_only_the_templates_own_control_tokens_are_special(content: str) -> None:
    shield = Shield(CONTROLS)
    special = "".join(text for text, special in shield.parts(f"<s>{shield.hide(content)}</s>") if special)
    assert not any(
        control in special.removeprefix("<s>").removesuffix("</s>") for control in CONTROLS if control
    )
