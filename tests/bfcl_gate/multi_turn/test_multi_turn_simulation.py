"""The process of the simulated APIs: what a model may name and give, and what an API may do in it."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bfcl_gate.errors import SourceError
from bfcl_gate.multi_turn.data import Conversation, conversations
from bfcl_gate.multi_turn.simulation import CallEndedError, Simulation

HOSTILE = """
import os, socket, subprocess, sys, threading, urllib.request

class TicketAPI:
    def __init__(self):
        self.value = 0
        self.other = []

    def _load_scenario(self, scenario, long_context=False):
        self.value = scenario["value"]

    def connect(self):
        return socket.create_connection(("127.0.0.1", 9), timeout=1)

    def fetch(self):
        return urllib.request.urlopen("http://127.0.0.1:9/")

    def read_file(self):
        return open(__file__).read()

    def write_file(self):
        os.remove(__file__)

    def spawn(self):
        return subprocess.run(["true"])

    def system(self):
        return os.system("true")

    def bring(self):
        import wave

    def run_text(self):
        return eval("1 + 1")

    def kill_parent(self):
        os.kill(os.getppid(), 9)

    def say(self):
        print("noise")
        return {"said": True}

    def secrets(self):
        return str(sorted(os.environ))

    def loop(self):
        while True:
            pass

    def in_c(self):
        return len(str(7 ** 10 ** 9))

    def leave(self):
        os._exit(7)

    def long(self):
        return "x" * 1_000_001

    def much(self):
        return len(bytearray(1 << 40))

    def deep(self):
        return self.deep()

    def unprintable(self):
        return {"half": "\\ud800"}

    def put(self, value):
        self.value = value

    def inside_itself(self):
        self.other.append(self.other)
"""


def conversation(*classes: str, value: int = 1) -> Conversation:
    return Conversation(
        id="multi_turn_base_0",
        subset="base",
        turns=(),
        tools=(),
        added={},
        truth=(),
        classes=classes,
        config={name: {"value": value} for name in classes},
    )


@pytest.fixture
def fake_wheel(tmp_path: Path) -> Path:
    """A folder laid out like the wheel whose one API tries everything."""
    home = tmp_path / "wheel" / "bfcl_eval" / "eval_checker" / "multi_turn_eval" / "func_source_code"
    home.mkdir(parents=True)
    (home / "ticket_api.py").write_text(HOSTILE)
    return tmp_path / "wheel"


@pytest.fixture
def hostile(fake_wheel: Path) -> Iterator[Simulation]:
    with Simulation(fake_wheel, ["TicketAPI"], 0.3) as process:
        process.begin(conversation("TicketAPI"))
        yield process


@pytest.mark.parametrize(
    "name",
    ["connect", "fetch", "read_file", "write_file", "spawn", "system", "bring", "run_text", "kill_parent"],
)
def test_an_api_reaches_nothing_outside_its_process(hostile: Simulation, name: str) -> None:
    assert "is not available to a simulated API" in hostile.call(name, "{}")
    assert hostile.call("say", "{}") == '{"said": true}'


def test_what_an_api_prints_is_lost_and_what_it_sees_of_the_environment_is_nothing(
    hostile: Simulation,
) -> None:
    assert hostile.call("say", "{}") == '{"said": true}'
    assert "TZ" in hostile.call("secrets", "{}")
    assert "HOME" not in hostile.call("secrets", "{}")


@pytest.mark.parametrize(
    ("name", "ending"), [("loop", "signal SIGPROF"), ("in_c", "signal SIGPROF"), ("leave", "exit code 7")]
)
def test_a_call_without_end_ends_the_process_and_says_how(
    hostile: Simulation, name: str, ending: str
) -> None:
    with pytest.raises(CallEndedError, match=ending):
        hostile.call(name, "{}")
    with pytest.raises(CallEndedError, match=ending):
        hostile.call("say", "{}")


@pytest.mark.parametrize(
    ("name", "told"), [("long", "more than 1000000 characters"), ("deep", "recursion"), ("much", "")]
)
def test_what_is_too_large_is_an_error_of_that_call_alone(hostile: Simulation, name: str, told: str) -> None:
    result = hostile.call(name, "{}")
    assert result.startswith("Error during execution: ")
    assert told in result
    assert hostile.call("say", "{}") == '{"said": true}'


@pytest.mark.parametrize(
    "name",
    [
        "__init__",
        "__class__",
        "_load_scenario",
        "value",
        "no_such",
        "",
        "put.__self__",
        "say\n",
        "begin",
        "\ud800",
    ],
)
def test_only_public_methods_have_a_name(hostile: Simulation, name: str) -> None:
    assert hostile.call(name, "{}") == f"Error during execution: name '{name}' is not defined"


@pytest.mark.parametrize(
    "arguments",
    [
        *(
            '{"no": 1}',
            '{"self": 1, "value": 2}',
            '{"value": 1, "__class__": 2}',
            "[1]",
            "5",
            "null",
            "{",
            "",
        ),
        "[" * 100_000,
        '{"value": ' + "9" * 5_000 + "}",
        json.dumps({'value=__import__("os").getpid(),x': 1}),
    ],
)
def test_arguments_are_data_and_bad_ones_an_error_of_that_call(hostile: Simulation, arguments: str) -> None:
    assert hostile.call("put", arguments).startswith("Error during execution: ")
    assert hostile.difference() is None


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=20), st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_any_name_and_any_value_gives_some_text(hostile: Simulation, name: str, value: object) -> None:
    assert isinstance(hostile.call(name, json.dumps({name: value})), str)
    hostile.call("put", json.dumps({"value": value}))
    assert hostile.difference() == (None if value == 1 else "TicketAPI.value")


def test_a_half_surrogate_pair_comes_through(hostile: Simulation) -> None:
    assert hostile.call("unprintable", "{}") == '{"half": "\\ud800"}'


def test_what_cannot_be_compared_differs(hostile: Simulation) -> None:
    hostile.call("inside_itself", "{}")
    assert hostile.difference() == "TicketAPI.other"


def test_begin_makes_everything_new(hostile: Simulation) -> None:
    hostile.call("put", '{"value": 5}')
    assert hostile.difference() == "TicketAPI.value"
    hostile.begin(conversation("TicketAPI", value=3))
    assert hostile.difference() is None
    hostile.call("put", '{"value": 3}')
    assert hostile.difference() is None


@pytest.mark.skipif(not Path("/proc/self/limits").exists(), reason="the system does not show limits in /proc")
def test_memory_processor_time_and_files_are_limited(hostile: Simulation) -> None:
    limits = Path(f"/proc/{hostile._process.pid}/limits").read_text()
    found = {line[:26].strip(): line[26:].split()[0] for line in limits.splitlines()}
    assert found["Max address space"] == str(1 << 30)
    assert found["Max cpu time"] == "600"
    assert found["Max file size"] == "0"


def test_classes_that_do_not_load_are_a_source_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="simulated APIs ended"):
        Simulation(tmp_path, ["TicketAPI"])


def test_the_process_is_gone_after_close(fake_wheel: Path) -> None:
    with Simulation(fake_wheel, ["TicketAPI"]) as process:
        pid = process._process.pid
    process.close()
    with pytest.raises(OSError, match="No such process"):
        os.kill(pid, 0)


def test_the_wheels_own_classes_are_bounded_too(bfcl: Path) -> None:
    found = next(
        found for found in conversations("base") if found.classes == ("GorillaFileSystem", "MathAPI")
    )
    with Simulation(bfcl, found.classes, 0.3) as process:
        process.begin(found)
        process.call("mkdir", '{"dir_name": "a"}')
        process.call("cp", '{"source": "a", "destination": "a"}')
        assert process.call("find", "{}").startswith("Error during execution: maximum recursion depth")
        assert process.difference() == "GorillaFileSystem.root"
        assert (
            process.call("logarithm", '{"value": 8, "base": 2, "precision": 5}') == "{'result': mpf('3.0')}"
        )
        with pytest.raises(CallEndedError, match="SIGPROF"):
            process.call("power", '{"base": 10, "exponent": 1000000000}')
