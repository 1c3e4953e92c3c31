"""What each chunk means, with arrivals of whole numbers."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl_gate.model.endpoint_engine.answer import Answer
from bfcl_gate.model.endpoint_engine.faults import Discretion, FaultError

ROLE = {"role": "assistant", "content": None}


def new(*, llama_cpp: bool = False, max_tokens: int = 100) -> Answer:
    return Answer(max_tokens=max_tokens, role_is_token=llama_cpp, discretion=Discretion(()))


def chunk(delta: Any = None, finish: Any = None, **more: Any) -> str:
    return json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more})


def call(index: Any = 0, name: Any = None, arguments: Any = None, **more: Any) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, "function": {"name": name, "arguments": arguments}, **more}]}


def said(*chunks: str, llama_cpp: bool = False) -> Answer:
    """An answer whose chunks arrive at 1, 2, 3 and so on."""
    answer = new(llama_cpp=llama_cpp)
    for at_ns, data in enumerate(chunks, 1):
        answer.take(data, at_ns)
    return answer


def test_a_role_comes_before_any_token_but_with_the_first_at_llama_cpp() -> None:
    stream = (chunk(ROLE), chunk({"content": "a"}), chunk({"content": "b"}), chunk({}, "stop"))
    assert said(*stream).token_ns == [2, 3, 4]
    assert said(*stream, llama_cpp=True).token_ns == [1, 2, 3, 4]
    assert said(*stream, llama_cpp=True).first_piece_ns == 2


def test_progress_and_usage_and_empty_chunks_are_no_tokens() -> None:
    answer = said(
        chunk(ROLE, prompt_progress={"total": 9, "processed": 4}),
        chunk(ROLE),
        chunk({}),
        chunk({"content": ""}),
        chunk({"content": "a"}),
        chunk({}, "stop"),
        json.dumps({"choices": [], "usage": {"completion_tokens": 2}}),
        json.dumps({"object": "keep-alive"}),
        llama_cpp=True,
    )
    assert answer.token_ns == [2, 5, 6]
    assert answer.counts().output_tokens == 2


def test_the_first_of_reasoning_text_and_arguments_are_kept_apart() -> None:
    answer = said(
        chunk({"reasoning_content": "hm "}),
        chunk({"reasoning": "so"}),
        chunk({"content": "Look."}),
        chunk(call(name="ls", arguments="", id="c1")),
        chunk(call(arguments='{"a":')),
        chunk(call(arguments="1}")),
        chunk({}, "tool_calls"),
    )
    assert answer.token_ns == [1, 2, 3, 4, 5, 6, 7]
    assert (answer.first_piece_ns, answer.first_text_ns, answer.first_call_ns) == (1, 3, 5)
    assert (answer.reasoning, answer.text, answer.finish_reason) == ("hm so", "Look.", "tool_calls")
    function = {"name": "ls", "arguments": '{"a":1}'}
    assert answer.tool_calls == ({"id": "c1", "type": "function", "function": function},)


def test_a_finish_with_the_last_piece_is_one_arrival() -> None:
    assert said(chunk({"content": "a"}), chunk({"content": "b"}, "length")).token_ns == [1, 2]


def test_an_empty_answer_is_one_token_of_no_text() -> None:
    answer = said(chunk(ROLE), chunk({}, "stop"))
    assert (answer.text, answer.token_ns, answer.first_piece_ns) == ("", [2], None)
    assert answer.tool_calls is None


def test_calls_are_merged_by_index_as_the_reference_does() -> None:
    answer = said(
        chunk(call(1, "b", "{}")),
        chunk(call(0, "a", "[")),
        chunk(call(None, "A", "]")),
        chunk(call(5, None, "nameless")),
        chunk({}, "tool_calls"),
    )
    assert [call["function"] for call in answer.tool_calls or ()] == [
        {"name": "A", "arguments": "[]"},
        {"name": "b", "arguments": "{}"},
        {"arguments": "nameless"},
    ]
    assert answer.text is None


def test_only_the_first_choice_is_read() -> None:
    both = {"choices": [{"delta": {"content": "a"}}, {"index": 1, "delta": {"content": "b"}}]}
    assert said(json.dumps(both), chunk({}, "stop")).text == "a"


def test_the_first_stated_model_and_build_are_kept() -> None:
    answer = said(chunk({"content": "a"}, model="m", system_fingerprint="b1"), chunk({}, "stop", model="n"))
    assert answer.stated == {"model": "m", "system_fingerprint": "b1"}


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ("{", "bad_json"),
        ("[]", "bad_json"),
        ("[" * 100_000, "bad_json"),
        ("1" * 5_000, "bad_json"),
        ('{"choices": 1}', "bad_chunk"),
        ('{"choices": [1]}', "bad_chunk"),
        (chunk(7), "bad_chunk"),
        (chunk({"content": ["a"]}), "bad_chunk"),
        (chunk({"reasoning": 1}), "bad_chunk"),
        (chunk({"tool_calls": {}}), "bad_chunk"),
        (chunk({"tool_calls": ["x"]}), "bad_chunk"),
        (chunk(call("0", "a")), "bad_chunk"),
        (chunk(call(0, 1)), "bad_chunk"),
        (chunk(call(0, "a", {"b": 1})), "bad_chunk"),
        (chunk({}, 3), "bad_chunk"),
        ('{"choices": [{"message": {"content": "all"}}]}', "not_a_stream"),
        ('{"error": {"message": "out of memory"}}', "server_error"),
        ('{"error": "context length exceeded"}', "context_overflow"),
    ],
)
def test_what_no_chunk_may_be_is_a_fault(data: str, kind: str) -> None:
    with pytest.raises(FaultError) as caught:
        said(data)
    assert caught.value.kind == kind
    assert str(caught.value).startswith(f"{kind}: ")


def test_a_server_that_goes_on_and_on_is_stopped() -> None:
    answer = new(max_tokens=1)
    for at_ns in range(1_016):
        answer.take(chunk({"content": "a"}), at_ns)
    with pytest.raises(FaultError, match=r"^over_limit: "):
        answer.take(chunk({"content": "a"}), 1_016)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "delta",
                    "content",
                    "tool_calls",
                    "function",
                    "index",
                    "name",
                    "arguments",
                    "error",
                    "usage",
                ]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@given(st.lists(anything, max_size=4))
def test_any_json_is_an_answer_or_a_fault(documents: list[Any]) -> None:
    answer = new(llama_cpp=True)
    try:
        for at_ns, document in enumerate(documents):
            answer.take(json.dumps(document), at_ns)
    except FaultError:
        return
    assert answer.text is None or isinstance(answer.text, str)
    assert all(isinstance(call["function"]["arguments"], str) for call in answer.tool_calls or ())
    assert answer.counts() is not None
