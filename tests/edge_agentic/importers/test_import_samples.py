"""Public recordings import with what a careful reader counts in them, or are refused with the reason."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from importing import SYNTHESIS, bare

from bfcl_gate.errors import InputError
from edge_agentic.importers.convert import import_trace
from edge_agentic.importers.report import Report
from edge_agentic.importers.rows import Limits, Row
from edge_agentic.importers.shape import SHAPES
from edge_agentic.importers.trajectories import Options


def imported(shared: Path, tmp_path: Path, sample: str) -> tuple[list[Row], Report]:
    output = tmp_path / "out.jsonl"
    source = shared / "data" / "trace-samples" / sample
    report = import_trace(source, output, Options(limits=Limits()), synthesis=SYNTHESIS)
    return [json.loads(line) for line in output.read_text("utf-8").splitlines()][1:], report


# trajectories, turns, tool calls, tool results that are part of a prompt; a last result that no reply
# followed is not (R10)
COUNTS = {
    "claude_code/session_125k.jsonl": ("claude-code", (3, 20, 21, 21)),
    "claude_code/tracelab_claude_2.1.157.jsonl": ("claude-code", (1, 10, 9, 9)),
    "claude_code/edge_cases.jsonl": ("claude-code", (1, 4, 3, 2)),
    "claude_code/session_49k.jsonl": ("claude-code", (1, 2, 1, 1)),
    "claude_code/subagent": ("claude-code", (2, 2, 2, 0)),
    "codex_cli/rollout_81k.jsonl": ("codex", (1, 19, 19, 18)),
    "codex_cli/tracelab_codex.jsonl": ("codex", (1, 9, 10, 10)),
    "codex_cli/rollout_v0.144.jsonl": ("codex", (1, 2, 2, 1)),
    "mini_swe_agent/github_issue.traj.json": ("openai", (1, 10, 0, 0)),
    "mini_swe_agent/mini-swe-agent-1.x-from-harbor-rfc.json": ("mini-swe-agent", (1, 3, 0, 0)),
    "mini_swe_agent/v2_toolcalls.generated.traj.json": ("mini-swe-agent", (1, 5, 6, 5)),
    "opencode/export_tool-calls.json": ("opencode", (1, 2, 1, 1)),
    "opencode/export_cleanup.json": ("opencode", (1, 2, 1, 1)),
    "opencode/events_real-session-task-three-parallel-sleeps.jsonl": ("opencode", (1, 2, 3, 3)),
    "opencode/storage_v2_legacy_json": ("opencode", (2, 5, 2, 2)),
    "openai_chat/openhands_litellm_log_fncall.json": ("openai", (1, 6, 6, 5)),
    "openai_chat/derived_finetune_from_taubench.jsonl": ("openai", (3, 56, 35, 35)),
    "openai_chat/test_compatible_api_with_tool_calls_without_id.cassette.yaml": ("openai", (1, 2, 1, 1)),
    "openai_chat/test_deepseek_responses.function_tool_stream.cassette.yaml": ("openai", (1, 2, 1, 1)),
    "anthropic_messages/test_anthropic_tool_with_thinking.request_response.json": ("anthropic", (1, 2, 1, 1)),
    "anthropic_messages/test_anthropic_tool_with_thinking.cassette.yaml": ("openai", (1, 2, 1, 1)),
    "atif/letta_tool-calls.json": ("atif", (1, 2, 2, 2)),
    "atif/openhands.hello-world.trajectory.json": ("atif", (1, 2, 2, 1)),
    "atif/terminus_2.hello-world-context-summarization-linear-history.trajectory.cont-1.json": (
        "atif",
        (1, 5, 0, 0),
    ),
    "atif/terminus_2.hello-world-context-summarization-linear-history.trajectory.json": (
        "atif",
        (1, 3, 0, 0),
    ),
    "atif/terminus_2.hello-world-context-summarization.trajectory.json": ("atif", (2, 7, 7, 5)),
    "atif/terminus_2.hello-world-context-summarization.trajectory.summarization-1-answers.json": (
        "atif",
        (1, 4, 2, 2),
    ),
    "atif/terminus_2.hello-world-context-summarization.trajectory.summarization-1-questions.json": (
        "atif",
        (1, 1, 0, 0),
    ),
    "atif/terminus_2.hello-world-context-summarization.trajectory.summarization-1-summary.json": (
        "atif",
        (1, 3, 2, 2),
    ),
    "gemini_cli/jsonl_v040.jsonl": ("gemini-cli", (1, 2, 1, 1)),
    "gemini_cli/legacy_tool_calls_with_results.json": ("gemini-cli", (1, 1, 2, 0)),
    "swe_agent/function_calling_simple.traj": ("swe-agent", (1, 5, 5, 4)),
    "swe_agent/marshmallow-1867.function_calling.traj": ("swe-agent", (1, 11, 11, 10)),
    "openhands/openhands_v0_trajectory.json": ("openhands", (1, 2, 2, 1)),
    "openhands/sdk_v1_fncall-llm-message.json": ("openai", (1, 6, 6, 5)),
    "other_agents/pi/agentsview_session.jsonl": ("pi", (2, 3, 2, 1)),
    "other_agents/qwen_code/agent-sessions_qwen.jsonl": ("qwen-code", (2, 2, 1, 0)),
    "other_agents/gptme/conversation.jsonl": ("openai", (1, 2, 0, 0)),
    "tau_bench/gpt-4o-airline.3records.json": ("tau-bench", (3, 56, 35, 35)),
    "inspect_ai/security-guide.json": ("inspect", (6, 6, 0, 0)),
    "inspect_ai/log_images_tc.json": ("inspect", (1, 1, 0, 0)),
    "inspect_ai/log_message_deduplication.eval": ("inspect", (1, 6, 5, 5)),
    "otlp_genai/openai_v2.otlp.generated.json": ("otlp", (1, 3, 3, 3)),
    "otlp_genai/openai_v2.base64ids_protobuf_json.generated.json": ("otlp", (1, 3, 3, 3)),
    "otlp_genai/openinference_otel_genai_span_attrs_tool_calls.json": ("otlp", (1, 2, 1, 1)),
    "lmcache_agent_trace/magagent_e58895ae.openai_chat.jsonl": ("lmcache", (3, 4, 0, 0)),
    "lmcache_agent_trace/taubench_9028da13.jsonl": ("lmcache", (1, 1, 0, 0)),
    "lmcache_agent_trace/miniswe_189f0222.jsonl": ("lmcache", (1, 6, 0, 0)),
    "abench/derived_from_lmcache_miniswe.abench-session-jsonl-v1.jsonl": ("abench", (1, 6, 0, 0)),
    "weka_inferencex/trace_0022.json": ("weka", (1, 7, 0, 0)),
    "weka_inferencex/trace_0026.json": ("weka", (1, 3, 0, 0)),
    "tracelab/sanitized_round_trace.jsonl": ("tracelab", (3, 19, 0, 0)),
    "tracelab/derived_round_trace.jsonl": ("tracelab", (3, 19, 0, 0)),
}


MOONCAKE = ("mooncake/conversation_trace.head300.jsonl", "mooncake/synthetic_trace.head200.jsonl")


@pytest.mark.parametrize("sample", COUNTS)
def test_a_sample_imports_with_its_conversations_turns_calls_and_results(
    shared: Path, tmp_path: Path, sample: str
) -> None:
    rows, report = imported(shared, tmp_path, sample)
    form, counts = COUNTS[sample]
    assert (report.formats, tuple(report.counts.values())) == ((form,), counts)
    # A trace of lengths asks for answers as long as the recorded ones.
    limits = {form in SHAPES or row.get("max_new_tokens") == 1024 for row in rows if row["turn"] == 1}
    assert limits == {True}


@pytest.mark.parametrize(
    ("sample", "repairs"),
    [
        ("claude_code/session_125k.jsonl", {"R1": 1, "R13": 2}),
        ("claude_code/session_49k.jsonl", {"R20": 44, "R7": 1}),
        ("claude_code/edge_cases.jsonl", {"R18": 3, "R4": 2}),
        ("codex_cli/rollout_81k.jsonl", {"R10": 1}),
        ("codex_cli/tracelab_codex.jsonl", {"R1": 3}),
        ("mini_swe_agent/v2_toolcalls.generated.traj.json", {"R4": 1}),
        ("tau_bench/gpt-4o-airline.3records.json", {"R10": 3}),
        ("other_agents/pi/agentsview_session.jsonl", {"R18": 1, "R13": 1}),
        ("inspect_ai/log_images_tc.json", {"R15": 1}),
        ("atif/terminus_2.hello-world-context-summarization-linear-history.trajectory.json", {"R6": 3}),
    ],
)
def test_the_report_counts_the_oddities_of_a_sample(
    shared: Path, tmp_path: Path, sample: str, repairs: dict[str, int]
) -> None:
    _, report = imported(shared, tmp_path, sample)
    assert {code: report.repairs.get(code) for code in repairs} == repairs


REFUSED = {
    "aider/sample-analytics.jsonl": "Aider's analytics",
    "claude_code/one_record/Bash-tool_result_error.jsonl": "conversation without a reply (1)",
    "claude_code/one_record/Edit-tool_result_error.jsonl": "conversation without a reply (1)",
    "claude_code/one_record/Task-tool_use.jsonl": "conversation without a reply (1)",
    "claude_code/one_record/WebSearch-tool_result.jsonl": "conversation without a reply (1)",
    "claude_code/one_record/assistant_sidechain.jsonl": "conversation without a reply (1)",
    "claude_code/one_record/bash_input.jsonl": "conversation without a reply (1)",
    "claude_code/one_record/command_output.jsonl": "conversation without a reply (1)",
    "claude_code/one_record/user_slash_command.jsonl": "conversation without a reply (1)",
    "codex_cli/legacy_0.50.jsonl": "holds no conversation that could be replayed",
    "native_mlperf/SOURCE.txt": "no line of it is JSON",
    "opencode/storage_v2_legacy_json/migration": "its format is not known",
    "opencode/storage_v2_legacy_json/part/m_user_small/001.json": "name the folder",
    "opencode/storage_v2_legacy_json/session/proj_test/ses_s_stage0_small.json": "name the folder",
    "openhands/sdk_v1_base_state.json": "not its events",
    "openhands/sdk_v1_events.jsonl": "No reply of a model that follows a user's text",
    "other_agents/copilot_cli/small.jsonl": "Copilot's events",
    "otlp_genai/gen-ai-input-messages.schema.json": "JSON Schema",
    "otlp_genai/gen-ai-output-messages.schema.json": "JSON Schema",
    "otlp_genai/langfuse_pydantic-ai-tools.trace.json": "Langfuse export",
    "otlp_genai/openinference_otel_genai_tool_execution_span_attrs.json": "content capture on",
}


@pytest.mark.parametrize(("sample", "reason"), REFUSED.items())
def test_a_sample_that_holds_no_chat_is_refused_with_the_reason(
    shared: Path, tmp_path: Path, sample: str, reason: str
) -> None:
    with pytest.raises(InputError) as caught:
        imported(shared, tmp_path, sample)
    assert reason in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_the_sub_agents_of_claude_code_are_linked_to_the_calls_that_began_them(
    shared: Path, tmp_path: Path
) -> None:
    rows, _ = imported(shared, tmp_path, "claude_code/session_125k.jsonl")
    heads = {row["conversation_id"]: row for row in rows if row["turn"] == 1}
    main, *agents = heads
    assert [heads[agent]["parent_conversation_id"] for agent in agents] == [main, main]
    for agent in agents:
        spawn = next(
            r for r in rows if (r["conversation_id"], r["turn"]) == (main, heads[agent]["fork_turn"])
        )
        prompts = [json.loads(call["function"]["arguments"]).get("prompt") for call in spawn["tool_calls"]]
        assert heads[agent]["content"] in prompts


def test_the_summary_of_a_terminus_run_begins_a_linked_trajectory(shared: Path, tmp_path: Path) -> None:
    rows, report = imported(shared, tmp_path, "atif")
    parents = {row["conversation_id"]: row.get("parent_conversation_id") for row in rows if row["turn"] == 1}
    run = "terminus_2.hello-world-context-summarization"
    assert parents[f"{run}-linear-history.trajectory.cont-1"] == f"{run}-linear-history.trajectory"
    assert parents[f"{run}.trajectory.c2"] == f"{run}.trajectory"
    assert report.splits == {"compaction": 2, "subagent": 3}


def test_recorded_token_counts_show_what_claude_code_does_not_store(shared: Path, tmp_path: Path) -> None:
    _, report = imported(shared, tmp_path, "claude_code/tracelab_claude_2.1.157.jsonl")
    (prompt,) = report.prompts
    assert (prompt["first_input_tokens"], prompt["first_characters"]) == (32272, 146)
    assert any(
        "first prompt of 1 of 1 trajectories is shorter than recorded" in text for text in report.missing
    )
    assert any("have no system prompt" in text for text in report.missing)


def test_the_official_shape_of_a_conversation_comes_back_from_openai_messages(
    shared: Path, tmp_path: Path
) -> None:
    """MLPerf's own rows as chat messages import to the same rows."""
    lines = (shared / "data" / "agentic_coding_2.5h.jsonl").open(encoding="utf-8")
    with lines:
        first = json.loads(next(lines))
        official = [first]
        for line in lines:
            row = json.loads(line)
            if row["conversation_id"] != first["conversation_id"]:
                break
            official.append(row)
    messages = [{"role": "system", "content": first["system"]}]
    for row in official:
        for each in row.get("tool_results") or [None]:
            kept = {
                k: row[k]
                for k in ("role", "content", "tool_calls", "reasoning_content")
                if row.get(k) is not None
            }
            messages.append({"role": "tool", **each} if each else kept)
    source = tmp_path / "log.json"
    source.write_text(json.dumps({"messages": messages, "tools": first["tools"]}), encoding="utf-8")
    import_trace(source, tmp_path / "out.jsonl", Options(limits=Limits()))
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()][1:]
    keys = ("role", "content", "system", "tools", "tool_calls", "tool_results", "reasoning_content")
    wanted = [{k: row[k] for k in keys if row.get(k) is not None} for row in official]
    assert bare(rows)["log"] == wanted


@pytest.mark.parametrize("sample", MOONCAKE)
def test_a_mooncake_sample_imports_up_to_a_length(shared: Path, tmp_path: Path, sample: str) -> None:
    source = shared / "data" / "trace-samples" / sample
    lengths = [json.loads(line)["input_length"] for line in source.read_text("utf-8").splitlines()]
    short = replace(SYNTHESIS, longest=2000)
    report = import_trace(source, tmp_path / "out.jsonl", Options(limits=Limits()), synthesis=short)
    # A chat only grows, so what is left out of it is longer than the limit.
    assert report.counts["turns"] == sum(length <= 2000 for length in lengths)


def test_every_sample_is_expected_somewhere(shared: Path) -> None:
    folder = shared / "data" / "trace-samples"
    known = {*COUNTS, *REFUSED, *MOONCAKE}
    folders = tuple(f"{name}/" for name in known if (folder / name).is_dir())
    files = [path for path in folder.rglob("*") if path.is_file()]
    names = [path.relative_to(folder).as_posix() for path in files if path.name != "SOURCE.txt"]
    assert [n for n in names if n not in known and not n.startswith(folders) and not n.endswith(".md")] == []
