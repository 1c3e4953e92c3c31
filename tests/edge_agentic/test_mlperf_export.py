"""`export-mlperf`: the tree as MLCommons' checker reads it, what is refused, and names and texts that mean harm."""

import errno
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from checker_reading import RULES, faults, find, read
from fake_run import write_run
from submitted_run import SUBSETS, TURNS, answers, manifest, options, turns, write_submission

from bfcl_gate.errors import InputError, SourceError
from bfcl_gate.ruleset import MLPERF_V6_1
from edge_agentic.cli import main
from edge_agentic.mlperf_export.figures import five_digits, markdown
from edge_agentic.mlperf_export.system import SYSTEM_FIELDS
from edge_agentic.mlperf_export.tree import ExportOptions, export_run

RESULTS = "results/Board-1/qwen3.6-27b/SingleStream"
FILES = {
    "src/README.md",
    "systems/Board-1.json",
    f"{RESULTS}/config.yaml",
    f"{RESULTS}/README.md",
    f"{RESULTS}/measurements.json",
    f"{RESULTS}/performance/result_summary.json",
    f"{RESULTS}/accuracy/accuracy_results.json",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that is a submission of the closed division."""
    return write_submission(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def tree(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tree made of it."""
    folder = tmp_path_factory.mktemp("tree") / "new"
    export(run, folder)
    return folder


def export(run: Path, folder: Path, **changes: Any) -> None:
    export_run(run, folder, ExportOptions(**{"submitter": "Example Lab", "system": "Board-1", **changes}))


def document(tree: Path, name: str, division: str = "closed") -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((tree / division / "Example Lab" / name).read_text(encoding="utf-8"))
    return loaded


def result_of(run: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((run / "result.json").read_text(encoding="utf-8"))
    return loaded


# The tree


def test_the_tree_has_the_checkers_files_and_no_other(tree: Path) -> None:
    base = tree / "closed" / "Example Lab"
    assert {path.relative_to(base).as_posix() for path in base.rglob("*") if path.is_file()} == FILES
    assert [path.name for path in tree.iterdir()] == ["closed"]


def test_the_checkers_rules_find_no_fault(tree: Path) -> None:
    assert faults(tree) == []


def test_what_the_checker_reads_is_what_was_measured(run: Path, tree: Path) -> None:
    told = read(tree / "closed" / "Example Lab" / RESULTS)
    latencies = sorted(turn.completed_ns - turn.submitted_ns for turn in turns())
    assert told["result_ms"] == pytest.approx(sum(latencies) / TURNS / 1e6)
    # Places among 1,007 values that LoadGen's early stopping certifies: t* = 466, 78, 34, 17, 3, none for p99.9.
    places = {"50.0": 466, "90.0": 78, "95.0": 34, "97.0": 17, "99.0": 3}
    assert {name: told[f"latency {name}"] for name in places} == {
        name: latencies[-place] for name, place in places.items()
    }
    assert told["latency 99.9"] is None
    first = sorted(turn.token_ns[0] - turn.submitted_ns for turn in turns())
    assert told["ttft 99.0"] == first[-3]
    assert told["tpot 50.0"] == pytest.approx(
        (4 * 50_000_000 + 1_000_000) / 3
    )  # 5 tokens, the last ends the answer
    assert (told["issued"], told["failed"]) == (TURNS, 0)
    assert told["duration_ns"] == turns()[-1].completed_ns - turns()[0].submitted_ns
    assert told["qps"] == pytest.approx(TURNS / (told["duration_ns"] / 1e9))
    right = sum(answer.correct_native for answer in answers())
    assert told["accuracy_score"] == pytest.approx(right / 995)
    assert (told["accuracy_samples"], told["scenario"], told["streaming"]) == (995, "online", "on")


def test_times_are_whole_nanoseconds_and_percentiles_carry_the_references_names(tree: Path) -> None:
    summary = document(tree, f"{RESULTS}/performance/result_summary.json")
    names = ["99.9", "99.0", "97.0", "95.0", "90.0", "80.0", "75.0", "50.0"]
    for metric in ("latency", "ttft"):
        block = summary[metric]
        assert list(block["early_stopping_percentiles"]) == names
        assert list(block["percentiles"]) == [*names, "25.0", "10.0", "5.0", "1.0"]
        whole = (*block["percentiles"].values(), block["min"], block["max"], block["median"], block["total"])
        assert all(type(value) is int for value in whole)
    assert summary["latency"]["total"] == sum(turn.completed_ns - turn.submitted_ns for turn in turns())
    assert summary["finish_reason_counts"]["stop"] == TURNS
    assert summary["run_config"]["warmup"] == {"enabled": True, "n_requests": 1}
    assert summary["output_sequence_lengths"]["avg"] == 4  # the token that ends an answer is none of its text
    assert summary["input_sequence_lengths"]["max"] == 100


def test_accuracies_are_those_of_the_native_marks_with_five_significant_figures(tree: Path) -> None:
    gate, inline = document(tree, f"{RESULTS}/accuracy/accuracy_results.json")["accuracy_scores"]
    assert (gate["dataset_type"], inline["dataset_type"]) == ("accuracy", "performance")
    assert gate["breakdown"]["subset_scores"].keys() == SUBSETS.keys()
    assert gate["breakdown"]["subset_scores"]["irrelevance"] == 91.667
    assert gate["breakdown"]["overall_accuracy"] == round(100 * gate["score"], 3)
    assert gate["response_counts"] == {"issued": 995, "scored": 995, "empty": 0, "missing": 0}
    assert gate["duration_s"] == pytest.approx(995 * 2.000000001)
    assert (inline["score"], inline["total_samples"]) == (0.5, TURNS)


def test_the_system_is_described_as_far_as_the_run_knows_it(tree: Path) -> None:
    system = document(tree, "systems/Board-1.json")
    assert list(system) == RULES["system_required"] == list(SYSTEM_FIELDS)
    assert (system["submitter"], system["division"], system["status"]) == ("Example Lab", "closed", "rdi")
    assert system["host_processor_model_name"] == "Example CPU"
    assert (system["host_processors_per_node"], system["host_processor_core_count"]) == ("2", "4")
    assert system["host_memory_capacity"] == "32.0 GiB"
    assert (system["accelerators_per_node"], system["accelerator_model_name"]) == ("1", "Example GPU")
    assert system["accelerator_memory_capacity"] == "N/A"
    assert "Example Board" in system["hw_notes"]
    assert "kv type f16" in system["sw_notes"]


def test_the_weights_of_the_reference_are_known_by_their_hash(tree: Path) -> None:
    assert document(tree, f"{RESULTS}/measurements.json") == {
        "input_data_types": "int32",
        "retraining": "no",
        "starting_weights_filename": "Qwen3.6-27B-Q4_K_M.gguf",
        "weight_data_types": "GGUF Q4_K_M",
        "weight_transformations": "none: the published quantised file as it is",
    }


def test_the_configuration_has_only_keys_of_the_references_schema(tree: Path) -> None:
    """Its models forbid any further key (mlcommons/endpoints, src/inference_endpoint/config/schema.py)."""
    config = yaml.safe_load(
        (tree / "closed/Example Lab" / RESULTS / "config.yaml").read_text(encoding="utf-8")
    )
    assert config.keys() == {
        "name", "version", "type", "model_params", "datasets", "settings", "endpoint_config",
    }  # fmt: skip
    assert config["model_params"].keys() == {"name", "temperature", "seed", "max_new_tokens", "streaming"}
    assert config["settings"].keys() == {"runtime", "load_pattern", "client", "warmup"}
    assert find(config, "settings.load_pattern") == {"type": "agentic_inference", "target_concurrency": 1}
    assert find(config, "settings.client.num_workers") == find(config, "settings.client.max_connections") == 1
    replay, gate = config["datasets"]
    assert replay["agentic_inference"] == {
        "turn_timeout_s": 600.0,
        "num_trajectories_to_issue": 20,
        "inject_tool_delay": False,
    }
    assert gate["generate_params"]["category_sample_pct"] == {"non_live": 62, "live": 10, "hallucination": 10}
    assert gate["generate_params"]["subset_floor"] == 25
    assert config["endpoint_config"]["endpoints"][0].endswith(".invalid")


def test_the_seeds_satisfy_the_tool_they_are_stated_for(run: Path, tmp_path: Path) -> None:
    export(run, tmp_path / "a", seeds="compliance")
    told = read(tmp_path / "a" / "closed" / "Example Lab" / RESULTS)
    assert (told["dataloader_random_seed"], told["scheduler_random_seed"]) == (42, 42)
    assert faults(tmp_path / "a") == ["dataloader_random_seed 42", "scheduler_random_seed 42"]


def test_the_readme_gives_result_choices_and_what_is_left(tree: Path) -> None:
    text = (tree / "closed/Example Lab" / RESULTS / "README.md").read_text(encoding="utf-8")
    assert text.startswith("# Example Lab, Board-1: qwen3.6-27b, SingleStream, closed division\n")
    assert "Not verified by MLCommons Association." in text
    assert "| mean latency | 1714.0 ms |" in text
    assert MLPERF_V6_1.model_sha256 is not None
    assert MLPERF_V6_1.model_sha256 in text
    assert "`2747215439041700203`" in text
    assert "host\\_storage\\_capacity" in text
    assert "example" not in text


# What is refused, and what another division or an example takes

Refused = tuple[dict[str, Any], str]

IN_BOTH: list[Refused] = [
    ({"trace": {**manifest()["trace"], "sha256": "0" * 64}}, "another trace"),
    ({"trace": {**manifest()["trace"], "turns": TURNS + 1}}, "1007 of 1008 turns"),
    ({"options": options(max_tokens=512)}, "--max-tokens was 512, not 1024"),
    ({"options": options(tool_delay="recorded")}, "--tool-delay was recorded, not none"),
    ({"replayed": [replace(turn, decode="forced") for turn in turns()]}, "decoding was forced, not natural"),
    ({"replayed": [replace(turn, error="timeout") if turn.position == 5 else turn for turn in turns()]}, "invalid"),
    ({"resumed_at": 500}, "interrupted"),
    ({"answered": answers(subsets=tuple({**SUBSETS, "multiple": 123}.items()))}, "a gate of 994 samples"),
    ({"policy": replace(MLPERF_V6_1.gate, rules="official")}, "the gate's rules were official, not mlperf"),
]  # fmt: skip
CLOSED_ONLY: list[Refused] = [
    ({"ruleset": "standard", "profile": "standard"}, "the profile standard, not mlperf-v6.1"),
    ({"model": {"name": "other", "sha256": "0" * 64}}, "its model is other"),
    ({"policy": replace(MLPERF_V6_1.gate, calls="lenient"), "answered": tuple(
        replace(answer, correct=True) for answer in answers()
    )}, "judged lenient calls"),
    ({"answered": answers(tenths=8), "least": 0.5}, "below the line 83.64%"),
    ({"replayed": turns(spacing_ms=15_000)}, "beyond the reference's cap of 14400 s"),
    ({"replayed": [replace(t, completed_ns=t.completed_ns + 601 * 10**9) if t.position == TURNS - 1 else t
                   for t in turns()]}, "beyond the reference's deadline of 600 s"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "told"),
    [*IN_BOTH, *CLOSED_ONLY],
    ids=lambda value: value if isinstance(value, str) else "run",
)
def test_what_is_no_closed_submission_is_refused_in_one_paragraph(
    tmp_path: Path, changes: dict[str, Any], told: str
) -> None:
    run = write_submission(tmp_path / "run", **changes)
    with pytest.raises(InputError, match="closed division") as caught:
        export(run, tmp_path / "tree")
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "tree").exists()


@pytest.mark.parametrize(
    ("changes", "told"), CLOSED_ONLY, ids=lambda value: value if isinstance(value, str) else "run"
)
def test_the_open_division_takes_it_and_states_the_difference(
    tmp_path: Path, changes: dict[str, Any], told: str
) -> None:
    run = write_submission(tmp_path / "run", **changes)
    export(run, tmp_path / "tree", division="open")
    text = (tmp_path / "tree/open/Example Lab" / RESULTS / "README.md").read_text(encoding="utf-8")
    assert "open division\n" in text.splitlines(keepends=True)[0]
    assert markdown(told) in text
    assert faults(tmp_path / "tree") == []


@pytest.mark.parametrize("changes", [changes for changes, _ in IN_BOTH[:1] + IN_BOTH[6:8]])
def test_the_open_division_is_the_same_workload(tmp_path: Path, changes: dict[str, Any]) -> None:
    run = write_submission(tmp_path / "run", **changes)
    with pytest.raises(InputError, match="open division"):
        export(run, tmp_path / "tree", division="open")


def test_an_example_says_everywhere_that_it_is_none(tmp_path: Path) -> None:
    run = write_submission(tmp_path / "run", **IN_BOTH[0][0])
    export(run, tmp_path / "tree", any_run=True)
    base = tmp_path / "tree" / "open" / "Example Lab"
    text = (base / RESULTS / "README.md").read_text(encoding="utf-8")
    assert text.startswith("# Not a submission: an example of the layout")
    assert "must not be submitted, nor quoted as one" in text
    assert IN_BOTH[0][1] in text
    assert document(tmp_path / "tree", "systems/Board-1.json", "open")["sw_notes"].startswith("an example")


def test_no_example_stands_in_the_closed_division(run: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--any-run"):
        export(run, tmp_path / "tree", any_run=True, division="closed")


def test_a_lenient_gate_does_not_raise_the_accuracy(tmp_path: Path) -> None:
    judged = tuple(replace(answer, correct=True) for answer in answers())
    run = write_submission(
        tmp_path / "run", answered=judged, policy=replace(MLPERF_V6_1.gate, calls="lenient")
    )
    export(run, tmp_path / "tree", division="open")
    assert result_of(run)["gate"]["overall_accuracy"] == 1
    told = read(tmp_path / "tree/open/Example Lab" / RESULTS)
    assert told["accuracy_score"] == pytest.approx(sum(answer.correct_native for answer in judged) / 995)


def test_without_a_passed_gate_nothing_is_exported(tmp_path: Path) -> None:
    run = write_submission(tmp_path / "run", answered=answers(tenths=8))
    with pytest.raises(InputError, match="gate of this run did not pass"):
        export(run, tmp_path / "tree", any_run=True)


def test_an_unfinished_run_is_to_be_continued(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", finished=False, answered=2)
    with pytest.raises(InputError, match="was not finished \\(2 turns and 0 gate answers are kept\\)"):
        export(run, tmp_path / "tree", any_run=True)


def test_a_gate_that_another_run_asked_is_no_evidence(tmp_path: Path) -> None:
    run = write_submission(tmp_path / "run", options=options(gate_result="gate"))
    (run / "gate.jsonl").unlink()
    with pytest.raises(InputError, match="--gate-result"):
        export(run, tmp_path / "tree", any_run=True)


def test_accuracies_that_the_marks_do_not_give_are_not_believed(tmp_path: Path) -> None:
    run = write_submission(tmp_path / "run")
    result = result_of(run)
    result["gate"]["normalized_accuracy"] = 0.99
    (run / "result.json").write_text(json.dumps(result), encoding="utf-8")
    with pytest.raises(InputError, match=r"gate\.normalized_accuracy is 0\.99"):
        export(run, tmp_path / "tree")


# An endpoint


def test_at_an_endpoint_the_clients_machine_is_not_the_system(tmp_path: Path) -> None:
    engine = {"kind": "endpoint", "ctx": 32_768, "build": "b1-abc"}
    model = {"name": "Qwen3.6-27B-Q4_K_M", "identity": "stated"}
    run = write_submission(tmp_path / "run", engine=engine, model=model)
    export(run, tmp_path / "tree")
    system = document(tmp_path / "tree", "systems/Board-1.json")
    assert {
        system[name] for name in ("host_processor_model_name", "operating_system", "number_of_nodes")
    } == {"N/A"}
    assert system["framework"] == "b1-abc"
    assert document(tmp_path / "tree", f"{RESULTS}/measurements.json")["weight_data_types"] == "N/A"
    text = (tmp_path / "tree/closed/Example Lab" / RESULTS / "README.md").read_text(encoding="utf-8")
    assert "identity as stated, not proved" in text
    assert "in the client" in text


def test_a_machine_without_accelerator_has_none_to_describe(tmp_path: Path) -> None:
    engine = {**manifest()["engine"], "gpu_layers": 0, "offloaded_layers": 0}
    run = write_submission(tmp_path / "run", engine=engine, environment={})
    export(run, tmp_path / "tree")
    system = document(tmp_path / "tree", "systems/Board-1.json")
    assert (system["accelerators_per_node"], system["accelerator_model_name"]) == ("0", "N/A")
    text = (tmp_path / "tree/closed/Example Lab" / RESULTS / "README.md").read_text(encoding="utf-8")
    assert "accelerator" not in text
    assert "host\\_memory\\_capacity" in text


# Names, folders and texts


@pytest.mark.parametrize("option", ["submitter", "system"])
@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "a/b", "../a", "/etc", "a\\b", "C:a", "-x", ".hidden", "a\nb", "a\0b", "\x1b[2J", "a ", "a.",
     "a\u202eb", "{system}", "a*", "x" * 101, "\udc80"],
)  # fmt: skip
def test_names_that_are_no_folder_names_are_refused(option: str, name: str) -> None:
    with pytest.raises(InputError, match=f"--{option} .*becomes the name of a folder"):
        ExportOptions(**{"submitter": "a", "system": "b", option: name})


@pytest.mark.parametrize("name", ["Orrick Industries LLC", "B200-SXM-180GBx8_TRT", "1-node+2S(v6.1)", "Löwe"])
def test_names_of_real_submissions_are_taken(name: str) -> None:
    assert ExportOptions(submitter=name, system=name).system == name


@pytest.mark.parametrize(
    ("changes", "told"),
    [({"seeds": "x"}, "--seeds"), ({"status": "sold"}, "--status"), ({"division": "network"}, "--division")],
)
def test_unknown_words_are_refused(run: Path, tmp_path: Path, changes: dict[str, str], told: str) -> None:
    with pytest.raises(InputError, match=told):
        export(run, tmp_path / "tree", **changes)


def test_a_folder_that_holds_something_is_left_alone(run: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    with pytest.raises(InputError, match="holds something already \\(mine\\)"):
        export(run, tmp_path)
    with pytest.raises(InputError, match="is a file"):
        export(run, tmp_path / "mine")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_an_empty_folder_is_taken(run: Path, tmp_path: Path) -> None:
    export(run, tmp_path)
    assert faults(tmp_path) == []


def test_a_disk_that_refuses_is_no_bad_input(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(SourceError, match=r"No space left on device.*incomplete"):
        export(run, tmp_path / "tree")


HOSTILE = "<script>|`x`* [a](b)\x1b[2J\n# head \u202e&"


def test_foreign_texts_are_inert_in_every_file(tmp_path: Path) -> None:
    facts = manifest()
    environment = {
        "machine": HOSTILE,
        "cpu": {"model": HOSTILE, "physical": "x", "sockets": [1]},
        "system": {"os": HOSTILE},
        "packages": {HOSTILE: HOSTILE},
        "power": [HOSTILE],
    }
    run = write_submission(
        tmp_path / "run",
        model={"name": HOSTILE, "file": HOSTILE, "sha256": MLPERF_V6_1.model_sha256, "identity": HOSTILE},
        engine={
            **facts["engine"],
            "build": HOSTILE,
            "devices": [HOSTILE, 1],
            "template_args": {HOSTILE: HOSTILE},
        },
        trace={**facts["trace"], "name": HOSTILE},
        environment=environment,
        options=options(note=HOSTILE),
        tool_version=HOSTILE,
    )
    export(run, tmp_path / "tree")
    assert faults(tmp_path / "tree") == []
    for path in (tmp_path / "tree").rglob("*"):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            assert not [c for c in text if not c.isprintable() and c != "\n"], path
            assert "\n# head" not in text
    readme = (tmp_path / "tree/closed/Example Lab" / RESULTS / "README.md").read_text(encoding="utf-8")
    assert "<script>" not in readme.replace("\\<script\\>", "")


@pytest.mark.parametrize(
    ("value", "text"),
    [(3666.126, "3666.1"), (12345.67, "12346"), (123456.7, "123460"), (0.633512, "0.63351"), (90, "90.000"),
     (0, "0.0000")],
)  # fmt: skip
def test_numbers_have_five_significant_figures(value: float, text: str) -> None:
    assert five_digits(value) == text


# The command


@pytest.fixture
def command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str, str]]:
    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["edge-agentic", "export-mlperf", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        out, err = capsys.readouterr()
        return int(stop.value.code or 0), out, err

    return call


def test_the_command_lists_the_files_and_what_is_left(
    command: Callable[..., tuple[int, str, str]], run: Path, tmp_path: Path
) -> None:
    code, out, err = command(run, tmp_path / "t", "--submitter", "Example Lab", "--system", "Board-1")
    assert code == 0
    assert {
        Path(line).relative_to(tmp_path / "t/closed/Example Lab").as_posix() for line in out.splitlines()
    } == FILES
    assert "host_storage_capacity" in err
    assert "status rdi" in err


def test_the_command_refuses_with_exit_code_2(
    command: Callable[..., tuple[int, str, str]], run: Path, tmp_path: Path
) -> None:
    quick = write_run(tmp_path / "run")
    names = ("--submitter", "a", "--system", "b")
    for arguments in (
        (quick, tmp_path / "t", *names),
        (tmp_path, tmp_path / "t", *names),
        (run, quick, *names),
        (run, tmp_path / "t", "--submitter", "a/b", "--system", "b"),
        (run, tmp_path / "t", "--submitter", "a"),
    ):
        code, out, err = command(*arguments)
        assert (code, out) == (2, "")
        assert "Traceback" not in err
    assert not (tmp_path / "t").exists()
