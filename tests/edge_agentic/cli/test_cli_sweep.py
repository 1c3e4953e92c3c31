"""`run --sweep` as a user runs it: one gate, a run for each concurrency, one report."""

import csv
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bfcl_gate.model.scripted_server import Received, ScriptedServer
from edge_agentic.cli import main
from edge_agentic.cli.serve import recorded_answers, script_of

Run = Callable[..., tuple[object, str, str]]
Serve = Callable[..., ScriptedServer]
ANY_LINE = ("--min-overall", "0", "--min-normalized", "0")

pytestmark = pytest.mark.usefixtures("bfcl")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Call `edge-agentic` and return (exit code, stdout, stderr)."""

    def call(*arguments: object) -> tuple[object, str, str]:
        monkeypatch.setattr(sys, "argv", ["edge-agentic", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        said = capsys.readouterr()
        return left.value.code, said.out, said.err

    return call


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as servers:
        script = script_of(recorded_answers(["smoke"]))
        yield lambda **options: servers.enter_context(ScriptedServer(script, **{"slots": 8, **options}))


class Sessions:
    """Counts the requests of turns and of gate samples."""

    def __init__(self) -> None:
        self.turns = self.samples = 0

    def __call__(self, received: Received) -> None:
        self.turns += "x-session-id" in received.headers
        self.samples += received.body.get("tool_choice") == "auto"


def test_a_sweep_is_one_gate_and_a_run_for_each_concurrency(run: Run, serve: Serve, tmp_path: Path) -> None:
    asked, folder = Sessions(), tmp_path / "sweep"
    server = serve(note=asked)
    options = ("--sweep", "2,1", "--slo", "ttft=20s,latency=60s", "--limit", 6, *ANY_LINE, "--output", folder)
    code, out, err = run("run", "--endpoint", server.url, *options)
    assert code == 0
    assert out.startswith("VALID.")
    assert "(2 runs, all of them so)" in out
    assert "Goodput: turns with ttft at most 20.0 s, latency at most 60.0 s" in out
    assert asked.turns == 12
    assert asked.samples == 120 + 5 + 1  # the gate, its preflight and the server's
    assert err.count("Server preflight") == 1
    rows = [line.split() for line in out.splitlines() if line.startswith(("  1  ", "  2  "))]
    assert [row[0] for row in rows] == ["2", "1"]
    manifests = [json.loads((folder / f"concurrency-{n}" / "run.json").read_text()) for n in (2, 1)]
    assert [manifest["options"]["concurrency"] for manifest in manifests] == [2, 1]
    assert [manifest["options"]["gate_result"] for manifest in manifests] == [None, "concurrency-2"]
    slots = [row["detail"] for m in manifests for row in m["preflight"] if row["name"] == "slots"]
    assert slots == ["8 requests at once; the run makes 2", "8 requests at once; the run makes 1"]


def test_a_sweep_is_shown_again_in_every_format(run: Run, serve: Serve, tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    options = ("--sweep", "1,2", "--limit", 4, *ANY_LINE, "--output", folder)
    _, text, _ = run("run", "--endpoint", serve().url, *options)
    assert run("report", folder)[1] == text
    document = json.loads(run("report", folder, "--format", "json")[1])
    assert [point["concurrency"] for point in document["points"]] == [1, 2]
    assert document["points"][1]["result"]["performance"]["turns"]["completed"] == 4
    rows = list(csv.DictReader(run("report", folder, "--format", "csv")[1].splitlines()))
    assert [row["concurrency"] for row in rows] == ["1", "2"]
    assert float(rows[0]["turns/s"]) > 0
    page = run("report", folder, "--format", "html")[1]
    HTMLParser().feed(page)
    plot = ElementTree.fromstring(page[page.index("<svg") : page.index("</svg>") + 6])
    assert len(plot.findall("polyline")) == 2
    assert [text.text for text in plot.findall("text[@class='label']")] == ["1", "2", "p50", "1", "2", "p90"]
    assert run("report", folder / "concurrency-2")[0] == 0


def test_finished_runs_of_a_sweep_are_not_made_again(run: Run, serve: Serve, tmp_path: Path) -> None:
    asked, folder = Sessions(), tmp_path / "sweep"
    url = serve(note=asked).url
    options = ("--limit", 4, *ANY_LINE, "--output", folder)
    run("run", "--endpoint", url, "--sweep", "1", *options)
    assert run("run", "--endpoint", url, "--sweep", "1", *options)[0] == 2
    before = asked.samples
    code, out, _ = run("run", "--endpoint", url, "--sweep", "1,2,4", *options, "--resume")
    assert code == 0
    assert "(3 runs, all of them so)" in out
    assert asked.turns == 12
    assert asked.samples == before + 1  # the server is looked at once more


def test_a_concurrency_added_in_front_takes_the_gate_from_where_it_was_asked(
    run: Run, serve: Serve, tmp_path: Path
) -> None:
    options = ("--limit", 4, *ANY_LINE, "--output", tmp_path / "sweep")
    url = serve().url
    run("run", "--endpoint", url, "--sweep", "2,1", *options)
    code, out, _ = run("run", "--endpoint", url, "--sweep", "1,2,4", *options, "--resume")
    assert code == 0
    assert "(3 runs, all of them so)" in out


def test_a_gate_that_fails_ends_the_sweep_and_no_speed_is_shown(
    run: Run, serve: Serve, tmp_path: Path
) -> None:
    folder = tmp_path / "sweep"
    options = ("--sweep", "1,2", "--limit", 2, "--min-overall", "1.0", "--output", folder)
    code, out, err = run("run", "--endpoint", serve().url, *options)
    assert code == 1
    assert out.startswith("GATE FAILED.")
    assert "withheld" in out
    assert "no further run of this sweep" in err
    assert not (folder / "concurrency-2").exists()
    assert "<svg" not in run("report", folder, "--format", "html")[1]


def lines_of_speed(text: str) -> list[str]:
    """The lines about speed: titles, header, notes, and the row of concurrency 1."""
    words = ("turns/s", "session", "Shared tokens", "hroughput", "<td>UNGATED  1<", "<td>1<", "  1  ")
    return [line for line in text.splitlines() if any(word in line for word in words)]


def test_a_sweep_without_a_passed_gate_shows_its_speed_where_asked_every_line_marked(
    run: Run, serve: Serve, tmp_path: Path
) -> None:
    folder = tmp_path / "sweep"
    options = ("--sweep", "1,2", "--limit", 2, "--min-overall", "1.0", "--output", folder)
    code, out, err = run("run", "--endpoint", serve().url, *options, "--show-ungated")
    assert code == 1
    assert out.startswith("GATE FAILED.")
    assert "withheld" not in "".join(out.splitlines(True)[1:])
    assert len(lines_of_speed(out)) == 5
    assert all(line.startswith("UNGATED") for line in lines_of_speed(out))
    assert err.count("UNGATED turn ") == 2
    assert run("report", folder, "--show-ungated")[1] == out
    page = run("report", folder, "--format", "html", "--show-ungated")[1]
    told = [line for line in lines_of_speed(page) if line.startswith(("<h2>", "<tr><td>", "<p>"))]
    assert len(told) == 5  # the header of a column is no line, the title of the plot is one
    assert all(line.partition(">")[2].removeprefix("<td>").startswith("UNGATED") for line in told)
    assert page.count("<svg") == 1
    assert json.loads((folder / "concurrency-1" / "result.json").read_text())["performance"] is None
    code, out, err = run("report", folder, "--format", "csv", "--show-ungated")
    assert (code, out) == (2, "")
    assert "--show-ungated marks every line" in err


def test_runs_of_a_sweep_whose_gate_passed_are_not_marked(run: Run, serve: Serve, tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    run("run", "--endpoint", serve().url, "--sweep", "1,2", "--limit", 2, *ANY_LINE, "--output", folder)
    passed = run("report", folder, "--show-ungated")[1]
    assert "UNGATED" not in passed
    (folder / "concurrency-2" / "result.json").unlink()  # as an interrupted run leaves it
    assert "withheld" in run("report", folder)[1]
    mixed = run("report", folder, "--show-ungated")[1]
    assert mixed.startswith("INCOMPLETE.")
    assert mixed.count("Throughput and latency by concurrency") == 2
    row = next(line for line in passed.splitlines() if line.startswith("  1 "))
    assert row.split() in [line.split() for line in mixed.splitlines()]
    marked = [line.split()[1] for line in mixed.splitlines() if line.startswith("UNGATED    2")]
    assert marked == ["2"]
    page = run("report", folder, "--format", "html", "--show-ungated")[1]
    plots = [line for line in page.splitlines() if "over throughput" in line]
    assert plots == ["<h2>Latency over throughput</h2>", "<h2>UNGATED  Latency over throughput</h2>"]


def test_an_invalid_run_is_named_in_the_first_line(run: Run, serve: Serve, tmp_path: Path) -> None:
    failing = {"x": 0}

    def fault(received: Received) -> str | None:
        failing["x"] += "x-session-id" in received.headers
        return "status-500" if failing["x"] == 3 and "x-session-id" in received.headers else None

    options = ("--sweep", "1,2", "--limit", 2, *ANY_LINE, "--output", tmp_path / "sweep")
    code, out, _ = run("run", "--endpoint", serve(fault=fault).url, *options)
    assert code == 1
    assert out.startswith("INVALID.")
    assert "(concurrency 2)" in out.splitlines()[0]
    assert "2 INVALID" in out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--sweep", "1,x"), "--sweep '1,x': expected concurrencies"),
        (("--sweep", "0"), "--sweep '0': expected"),
        (("--sweep", "9" * 5_000), "--sweep '999"),
        (("--sweep", "4097"), "concurrencies from 1 to 4096"),
        (("--sweep", "2,2"), "given twice"),
        (("--sweep", "1,2", "--concurrency", "2"), "--sweep and --concurrency"),
        (("--sweep", "1,2", "--profile", "mlperf-v6.1"), "--sweep: the profile"),
        (("--slo", "ttft=2"), "--slo 'ttft=2'"),
    ],
)
def test_what_makes_no_sweep_is_refused(
    run: Run, serve: Serve, tmp_path: Path, arguments: tuple[str, ...], told: str
) -> None:
    code, out, err = run("run", "--endpoint", serve().url, "--output", tmp_path / "run", *arguments)
    assert (code, out) == (2, "")
    assert told in err


def test_a_sweep_needs_an_endpoint(run: Run) -> None:
    code, _, err = run("run", "--sweep", "1,2")
    assert code == 2
    assert "a sweep needs --endpoint" in err
