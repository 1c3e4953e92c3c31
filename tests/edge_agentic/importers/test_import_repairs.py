"""Each repair by its code: what it changes, that it is counted, and that nothing else changes."""

from typing import Any

import pytest
from importing import built, call, call_row, result, result_row, said, user

from edge_agentic.importers.clean import clean
from edge_agentic.importers.content import flatten
from edge_agentic.importers.normal import REPAIRS, Notes, Session, UserText
from edge_agentic.importers.pairing import NO_RESULT
from edge_agentic.importers.rows import RESUMED, Limits, build_rows

HI = {"role": "user", "content": "hi"}


def test_what_needs_no_repair_is_left_as_it_is() -> None:
    rows, repairs = built(
        user("  hi\r\n\t"),
        said("", call(arguments='{"b":1,  "a":2}')),
        result(text="\x1b[1mé\n"),
        said("done "),
    )
    assert rows == [
        {"role": "user", "content": "  hi\r\n\t"},
        {"role": "assistant", "tool_calls": [call_row(arguments='{"b":1,  "a":2}')]},
        {"role": "tool", "tool_results": [result_row(text="\x1b[1mé\n")]},
        {"role": "assistant", "content": "done "},
    ]
    assert repairs == {}


def test_r1_texts_of_the_user_in_a_row_are_joined() -> None:
    rows, repairs = built(user("a"), user("b"), said("c"))
    assert rows[0]["content"] == "a\n\nb"
    assert repairs == {"R1": 1}


def test_r2_parts_of_one_call_are_one_reply() -> None:
    rows, repairs = built(
        user("hi"), said("a", key="m1"), said("", call(), key="m1"), result(), said("b", key="m2")
    )
    assert rows[1] == {"role": "assistant", "content": "a", "tool_calls": [call_row()]}
    assert repairs == {"R2": 1}


def test_r2_a_result_between_the_parts_of_a_call_goes_behind_them() -> None:
    rows, _ = built(
        user("hi"),
        said("", call("a"), key="m1"),
        result("a"),
        said("", call("b"), key="m1"),
        result("b"),
        said("x"),
    )
    assert [c["id"] for c in rows[1]["tool_calls"]] == ["a", "b"]
    assert rows[2]["tool_results"] == [result_row("a"), result_row("b")]


def test_r3_replies_with_nothing_between_them_are_merged() -> None:
    rows, repairs = built(user("hi"), said("a"), said("b", call()), result(), said("c"))
    assert rows[1] == {"role": "assistant", "content": "a\n\nb", "tool_calls": [call_row()]}
    assert repairs == {"R3": 1}


def test_r3_of_failed_attempts_the_last_one_stays() -> None:
    rows, repairs = built(user("hi"), said("half", failed=True), said("whole"))
    assert rows == [HI, {"role": "assistant", "content": "whole"}]
    assert repairs == {"R3": 1}


def test_r4_a_call_without_a_result_gets_a_fixed_one() -> None:
    rows, repairs = built(user("hi"), said("", call("a"), call("b")), result("b"), said("x"))
    assert rows[2]["tool_results"] == [result_row("a", NO_RESULT), result_row("b")]
    assert repairs == {"R4": 1}


def test_r4_the_last_reply_keeps_its_calls_without_results() -> None:
    rows, repairs = built(user("hi"), said("", call()))
    assert rows[-1] == {"role": "assistant", "tool_calls": [call_row()]}
    assert repairs == {"R4": 1}


def test_r5_a_result_without_a_call_is_left_out() -> None:
    rows, repairs = built(user("hi"), said("a"), result(), user("b"), said("c"))
    assert [row["role"] for row in rows] == ["user", "assistant", "user", "assistant"]
    assert repairs == {"R5": 1}


def test_r7_missing_and_reused_ids_are_replaced_and_results_follow() -> None:
    rows, repairs = built(
        user("hi"),
        said("", call(None), call("x")),
        result(None, "1"),
        result("x", "2"),
        said("", call("x")),
        result("x", "3"),
        said("done"),
    )
    assert [c["id"] for c in rows[1]["tool_calls"]] == ["call_1", "x"]
    assert rows[2]["tool_results"] == [result_row("call_1", "1"), result_row("x", "2")]
    assert [c["id"] for c in rows[3]["tool_calls"]] == ["call_2"]
    assert rows[4]["tool_results"] == [result_row("call_2", "3")]
    assert repairs == {"R7": 2}


def test_r7_one_id_twice_in_a_reply_pairs_in_order() -> None:
    rows, _ = built(user("hi"), said("", call("x"), call("x")), result("x", "1"), result("x", "2"), said("y"))
    assert rows[2]["tool_results"] == [result_row("x", "1"), result_row("call_1", "2")]


@pytest.mark.parametrize(
    ("recorded", "kept", "repaired"),
    [
        ('{"a": 1}', '{"a": 1}', False),
        ({"b": "é", "a": 1}, '{"b": "é", "a": 1}', False),
        ('"{\\"a\\": 1}"', '{"a": 1}', True),
        ('{"a": ', '{"_raw": "{\\"a\\": "}', True),
        ("ls -la", '{"_raw": "ls -la"}', True),
        ("", "{}", True),
        (None, "{}", True),
        ([1], '{"_raw": [1]}', True),
    ],
)
def test_r8_arguments_are_the_text_of_an_object(recorded: Any, kept: str, repaired: bool) -> None:
    rows, repairs = built(user("hi"), said("", call(arguments=recorded)), result(), said("x"))
    assert rows[1]["tool_calls"] == [call_row(arguments=kept)]
    assert repairs == ({"R8": 1} if repaired else {})


def test_r8_a_call_without_a_name_gets_one() -> None:
    rows, repairs = built(user("hi"), said("", call(name="")), result(), said("x"))
    assert rows[1]["tool_calls"] == [call_row(name="unknown")]
    assert repairs == {"R8": 1}


def test_r9_text_beside_results_is_folded_into_the_last_one() -> None:
    rows, repairs = built(
        user("hi"),
        said("", call("a"), call("b")),
        result("a", "1"),
        user("stop"),
        result("b", "2"),
        said("x"),
    )
    assert rows[2]["tool_results"] == [result_row("a", "1"), result_row("b", "2\n\nstop")]
    assert repairs == {"R9": 1}


def test_r10_what_no_reply_follows_is_dropped() -> None:
    rows, repairs = built(user("hi"), said("", call()), result(), user("and?"))
    assert [row["role"] for row in rows] == ["user", "assistant"]
    assert repairs == {"R10": 1}


def test_r11_replies_before_the_first_text_are_dropped_with_their_results() -> None:
    rows, repairs = built(said("welcome", call()), result(), said("so"), user("hi"), said("x"))
    assert rows == [HI, {"role": "assistant", "content": "x"}]
    assert repairs == {"R5": 1, "R11": 2}


def test_r11_they_are_kept_on_request() -> None:
    notes = Notes()
    session = Session(id="s", items=(said("welcome"), user("hi"), said("x")))
    rows = build_rows(session, Limits(keep_head=True), notes)
    assert [row.get("content") for row in rows] == [RESUMED, "welcome", "hi", "x"]


def test_r12_a_call_that_gave_nothing_leaves_its_prompt_to_the_next_one() -> None:
    rows, repairs = built(user("a"), said("", reasoning="hm"), user("b"), said("c"))
    assert rows == [{"role": "user", "content": "a\n\nb"}, {"role": "assistant", "content": "c"}]
    assert repairs == {"R1": 1, "R12": 1}


def test_r12_thinking_is_a_part_of_the_call_it_belongs_to() -> None:
    rows, repairs = built(user("a"), said("", reasoning="hm", key="m"), said("c", key="m"))
    assert rows[1] == {"role": "assistant", "content": "c", "reasoning_content": "hm"}
    assert repairs == {"R2": 1}


def test_r14_and_r15_parts_are_joined_and_images_replaced() -> None:
    notes = Notes()
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 4000}}
    assert flatten([{"type": "text", "text": "see"}, image], notes) == "see\n[image image/png, 3 kB removed]"
    assert notes.repairs == {"R14": 1, "R15": 1}
    assert flatten([{"type": "text", "text": "alone "}], notes) == "alone "
    assert notes.repairs["R14"] == 1


@pytest.mark.parametrize(("strip", "kept"), [(False, "\x1b[31mred\x1b[0m é"), (True, "red é")])
def test_r16_colours_are_kept_or_stripped(strip: bool, kept: str) -> None:
    notes = Notes()
    assert clean({"content": "\x1b[31mred\x1b[0m é"}, notes, strip_ansi=strip) == {"content": kept}
    assert notes.repairs == {"R16": 1}


def test_r17_what_no_server_can_be_sent_is_replaced_and_the_rest_is_not() -> None:
    notes = Notes()
    assert clean(["a\ud83db", "\x00", "e\u0301 \U0001f600"], notes, strip_ansi=False) == [
        "a\ufffdb",
        "\ufffd",
        "e\u0301 \U0001f600",
    ]
    assert notes.repairs == {"R17": 2}


@pytest.mark.parametrize(
    ("times", "ended_s", "delay"),
    [
        ({"ended_s": 105.5}, 104.0, {"delay_seconds": 1.5, "delay_source": "timestamps"}),
        ({"started_s": 104.0, "ended_s": 104.25}, 90.0, {"delay_seconds": 0.25, "delay_source": "span"}),
        ({"wait_s": 0.5}, 90.0, {"delay_seconds": 0.5, "delay_source": "execution_time"}),
        ({"ended_s": 105.5}, None, {"delay_source": "none"}),
        (
            {"wait_s": 61.0},
            None,
            {
                "delay_seconds": 10.0,
                "delay_source": "execution_time",
                "recorded_delay_seconds": 61.0,
                "repairs": ["R19"],
            },
        ),
        (
            {"ended_s": 100.0},
            101.0,
            {
                "delay_seconds": 0.0,
                "delay_source": "timestamps",
                "recorded_delay_seconds": -1.0,
                "repairs": ["R19"],
            },
        ),
    ],
)
def test_r19_the_wait_for_tools_is_the_best_one_recorded_within_its_bounds(
    times: dict[str, float], ended_s: float | None, delay: dict[str, Any]
) -> None:
    session = Session(
        id="s", items=(user("a"), said("", call(), ended_s=ended_s), result(**times), said("b"))
    )
    row = build_rows(session, Limits(), Notes())[2]
    assert {k: v for k, v in row.items() if k not in ("role", "tool_results")} == delay


def test_the_waits_of_calls_one_after_the_other_add_up_and_spans_do_not() -> None:
    calls = said("", call("a"), call("b"))
    for times, wait in (
        (({"wait_s": 1.0}, {"wait_s": 2.0}), 3.0),
        (({"started_s": 1.0, "ended_s": 3.0}, {"started_s": 1.5, "ended_s": 2.0}), 2.0),
    ):
        session = Session(
            id="s", items=(user("x"), calls, result("a", **times[0]), result("b", **times[1]), said("y"))
        )
        assert build_rows(session, Limits(), Notes())[2]["delay_seconds"] == wait


def test_empty_texts_ask_for_nothing() -> None:
    rows, repairs = built(user("hi"), said("a"), UserText(text=""), said("b"))
    assert rows == [HI, {"role": "assistant", "content": "a\n\nb"}]
    assert repairs == {"R3": 1}


def test_the_first_row_states_limit_stream_prompt_and_tools() -> None:
    tool = {"type": "function", "function": {"name": "bash"}}
    session = Session(
        id="s", items=(user("a"), said("b")), system="be brief", tools=(tool,), model="m", max_tokens=9
    )
    row = build_rows(session, Limits(max_tokens=512), Notes())[0]
    assert row == {
        "role": "user",
        "content": "a",
        "max_new_tokens": 512,
        "stream": True,
        "system": "be brief",
        "tools": [tool],
        "model": "m",
        "recorded_max_tokens": 9,
    }


def test_numbers_that_no_loader_reads_lose_their_last_digits() -> None:
    notes = Notes()
    schema = {"maximum": 2**64, "minimum": -(2**63), "most": [2**64 - 1], "far": 10**400, "on": True}
    assert clean(schema, notes, strip_ansi=False) == {
        "maximum": 1.8446744073709552e19,
        "minimum": -(2**63),
        "most": [2**64 - 1],
        "far": "1" + "0" * 400,
        "on": True,
    }
    assert len(notes.remarks) == 1


def test_there_are_twenty_codes() -> None:
    assert list(REPAIRS) == [f"R{n}" for n in range(1, 21)]
