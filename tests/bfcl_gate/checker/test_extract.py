import pytest

from bfcl_gate.checker.extract import extract_calls, has_structured_calls
from bfcl_gate.checker.unscorable import UnscorableError


def extracted(text: str) -> list[tuple[object, object]]:
    return [(call.name, call.arguments) for call in extract_calls(text)]


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('[{"function": {"name": "f", "arguments": "{\\"x\\": 1}"}}]', [("f", {"x": 1})]),
        ('[{"function": {"name": "f", "arguments": {"x": 1}}}]', [("f", {"x": 1})]),
        ('[{"function": {"name": "f", "arguments": "\\"{}\\""}}]', [("f", {})]),
        ('[{"function": {"name": "f", "arguments": "{oops"}}]', [("f", {})]),
        ('[{"function": {"name": "f", "arguments": "null"}}]', [("f", None)]),
        ('[{"function": {}}]', [("", {})]),
        (' [{"name": "f", "arguments": {"x": 1}}, {"name": "g"}]\n', [("f", {"x": 1}), ("g", {})]),
        ('[{"name": "f", "arguments": "{\\"x\\": 1}"}]', [("f", {"x": 1})]),
        ('{"name": "f", "arguments": {"x": 1}}', []),
        ("[]", []),
        ("", []),
    ],
)
def test_json_arrays_of_calls(text: str, calls: list[tuple[object, object]]) -> None:
    assert extracted(text) == calls


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("f(x=1)", [("f", {"x": 1})]),
        ("Sure, use f(x='it\\'s (fine)', y=[1, (2,)]) here.", [("f", {"x": "it's (fine)", "y": [1, [2]]})]),
        ("math.factorial(n=5)", [("factorial", {"n": 5})]),
        ("f(5)", [("f", {})]),
        ("f()", [("f", {})]),
        ("f(city)", []),
        ("f(x: int, y)", []),
        ("f(x=y)", [("f", {"x": "y"})]),
        ("f(x=data['sales'])", [("f", {"x": "data['sales']"})]),
        ("f(x=1 2)", [("f", {"_raw": "x=1 2"})]),
        ("f(x=g(y=1)) h(z=2)", [("f", {"x": "g(y=1)"}), ("h", {"z": 2})]),
        ("print(f(x=1))", [("f", {"x": 1})]),
        ("f(x=(g(y=1)", [("g", {"y": 1})]),
        ("check (a=1)", [("check", {"a": 1})]),
        ("f(x={1: 2, None: 3})", [("f", {"x": {"1": 2, "null": 3}})]),
        ("<tool_call>{}</tool_call>", []),
    ],
)
def test_calls_in_prose(text: str, calls: list[tuple[object, object]]) -> None:
    assert extracted(text) == calls


@pytest.mark.parametrize("value", ["{1, 2}", "b'a'", "...", "1j", "{(1, 2): 3}", "{[]: 1}"])
def test_literals_that_are_no_json_kill_the_reference(value: str) -> None:
    with pytest.raises(UnscorableError, match="gate_error:not_json"):
        extract_calls(f"f(x={value})")


def test_arguments_longer_than_any_answer_stay_text() -> None:
    text = "x=[" + "1," * 10_000 + "]"
    assert extracted(f"f({text})") == [("f", {"_raw": text})]


def test_only_the_openai_shape_counts_as_a_structured_call() -> None:
    assert has_structured_calls('[{"function": {}}]')
    assert not has_structured_calls('[{"function": {}}, {"name": "f"}]')
    assert not has_structured_calls('[{"name": "f"}]')
    assert not has_structured_calls("f(x=1)")
    assert not has_structured_calls("[]")


def test_a_text_of_very_many_calls_is_read_only_as_far_as_can_matter() -> None:
    assert len(extract_calls("f(x=1)" * 5_000)) == 1_000
