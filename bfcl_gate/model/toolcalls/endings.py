"""Markers that end a generation or go around what is said; they are no content."""

_MARKERS = (
    "</s>",
    "<eos>",
    "<|im_end|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|eot|>",
    "<|eom|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<end_of_turn>",
    "<turn|>",
    "<|user|>",
    "<|observation|>",
    "<｜end▁of▁sentence｜>",
    "<|END_OF_TURN_TOKEN|>",
    "[e~[",
)
_WRAPPERS = (
    ("<response>", "</response>"),
    ("<|START_RESPONSE|>", "<|END_RESPONSE|>"),
    ("<|START_TEXT|>", "<|END_TEXT|>"),
)


def content_end(text: str) -> int:
    """Return where the answer ends when white space and end-of-generation markers behind it are left off.

    White space alone stays: it may belong to a value that was cut.
    """
    end, position = len(text), _before_space(text, len(text))
    while marker := next((marker for marker in _MARKERS if text.endswith(marker, 0, position)), None):
        end = position - len(marker)
        position = _before_space(text, end)
    return end


def unwrap(content: str) -> str:
    """Return content without the tags that Granite 3.3 and the Command models put around it."""
    for opener, closer in _WRAPPERS:
        if content.startswith(opener):
            return content[len(opener) :].removesuffix(closer).strip()
    return content


def _before_space(text: str, end: int) -> int:
    while end and text[end - 1] in " \t\r\n":
        end -= 1
    return end
