"""The engine in its process: the same answers, and whatever happens to the process is one clear error."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tiny_gguf import TOKENS

from bfcl_gate.errors import ContextOverflowError, EngineError, InputError
from bfcl_gate.model.chat import ChatRequest
from bfcl_gate.model.child_engine import ChildEngine
from bfcl_gate.model.engine import EngineSettings, TimedResponse
from bfcl_gate.model.llama_engine import LlamaEngine

Model = Callable[..., Path]
Open = Callable[..., ChildEngine]
HELLO = ChatRequest(messages=({"role": "user", "content": "Hello."},), max_tokens=20)
LONG = ChatRequest(messages=({"role": "user", "content": "0123456789" * 1000},), max_tokens=20)
WAIT_S = 60


@pytest.fixture
def child_on(settings_of: Callable[..., EngineSettings]) -> Iterator[Open]:
    """Return an engine in a child process: `child_on(path, **settings)`."""
    opened: list[ChildEngine] = []

    def open_engine(path: Path, **changes: Any) -> ChildEngine:
        opened.append(ChildEngine(settings_of(path, **changes)))
        return opened[-1]

    yield open_engine
    for engine in opened:
        engine.close()


def untimed(response: TimedResponse) -> tuple[Any, ...]:
    return (
        response.token_ids,
        response.text,
        response.finish_reason,
        response.input_tokens,
        response.reused_tokens,
    )


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + WAIT_S
    while is_running(pid):
        assert time.monotonic() < deadline, f"process {pid} is still there"
        time.sleep(0.02)


@pytest.mark.parametrize("kind", ["attention", "hybrid"])
def test_a_child_answers_like_the_engine_itself(
    kind: str, child_on: Open, engine_on: Callable[..., LlamaEngine], model: Model
) -> None:
    child, engine = child_on(model(kind)), engine_on(model(kind))
    turns = [
        ChatRequest(
            messages=tuple({"role": "user", "content": f"{i} " * 30} for i in range(n)),
            recorded={"role": "assistant", "content": "123"},
            forced=True,
        )
        for n in (1, 2, 3)
    ]
    assert child.plan(turns) == engine.plan(turns)
    for turn, planned in zip(turns, child.plan(turns), strict=True):
        assert untimed(child.generate(turn, planned.keep)) == untimed(engine.generate(turn, planned.keep))
    child.forget()
    engine.forget()
    assert untimed(child.generate(HELLO)) == untimed(engine.generate(HELLO))
    assert child.info().identity == engine.info().identity
    assert child.info().syntax == engine.info().syntax


def test_the_childs_errors_are_raised_as_they_are_and_it_goes_on(child_on: Open, model: Model) -> None:
    child = child_on(model(), ctx=512)
    with pytest.raises(ContextOverflowError, match="Raise --ctx"):
        child.generate(LONG)
    with pytest.raises(InputError, match="--decode natural"):
        child.generate(ChatRequest(messages=HELLO.messages, forced=True))
    assert child.generate(HELLO).output_tokens


def test_a_running_answer_can_be_cancelled_and_the_engine_goes_on(child_on: Open, model: Model) -> None:
    child = child_on(model(answers="endless"), ctx=200_000)
    expected = untimed(child.generate(HELLO))
    child.forget()
    timer = threading.Timer(0.2, child.cancel)
    timer.start()
    with pytest.raises(EngineError, match="cancelled"):
        child.generate(ChatRequest(messages=HELLO.messages, max_tokens=190_000))
    timer.join()
    assert untimed(child.generate(HELLO)) == expected


MANY = [
    ChatRequest(messages=({"role": "user", "content": "0123456789" * n},), max_tokens=20) for n in range(1, 9)
]
ENDLESS = [ChatRequest(messages=HELLO.messages, max_tokens=20_000) for _ in range(4)]


@pytest.mark.parametrize("kind", ["attention", "hybrid"])
def test_a_child_answers_many_like_the_engine_itself(
    kind: str, child_on: Open, engine_on: Callable[..., LlamaEngine], model: Model
) -> None:
    child, engine = child_on(model(kind)), engine_on(model(kind))
    found, expected = (dict(e.generate_many(MANY, 3, True)) for e in (child, engine))
    assert list(found) == list(expected)
    assert [untimed(found[place]) for place in found] == [untimed(expected[place]) for place in found]


def test_who_leaves_many_answers_early_has_an_engine_that_goes_on(child_on: Open, model: Model) -> None:
    child = child_on(model(answers="endless"), ctx=30_000)
    expected = untimed(child.generate(HELLO))
    child.forget()
    answers = child.generate_many([HELLO, *ENDLESS], 5, False)
    assert untimed(next(answers)[1]) == expected
    answers.close()  # type: ignore[attr-defined]
    assert untimed(child.generate(HELLO)) == expected


def test_many_answers_can_be_cancelled_and_the_engine_goes_on(child_on: Open, model: Model) -> None:
    child = child_on(model(answers="endless"), ctx=30_000)
    timer = threading.Timer(0.2, child.cancel)
    timer.start()
    with pytest.raises(EngineError, match="cancelled"):
        list(child.generate_many(ENDLESS, 4, False))
    timer.join()
    assert child.generate(HELLO).output_tokens


def test_an_error_among_many_is_raised_as_it_is(child_on: Open, model: Model) -> None:
    child = child_on(model(), ctx=512)
    with pytest.raises(ContextOverflowError, match="Raise --ctx"):
        list(child.generate_many([HELLO, LONG], 2, False))
    assert child.generate(HELLO).output_tokens


def test_a_child_killed_among_many_answers_is_an_engine_error(child_on: Open, model: Model) -> None:
    child = child_on(model(answers="endless"), ctx=30_000)
    answers = child.generate_many([HELLO, *ENDLESS], 5, False)
    next(answers)
    os.kill(child._process.pid or 0, signal.SIGKILL)
    with pytest.raises(EngineError, match="SIGKILL"):
        list(answers)


@pytest.mark.parametrize(
    ("number", "cause"),
    [
        (signal.SIGKILL, "SIGKILL; the system may be out of memory"),
        (signal.SIGILL, "SIGILL; .* build it again"),
    ],
)
def test_a_killed_child_is_an_engine_error(
    child_on: Open, model: Model, number: signal.Signals, cause: str
) -> None:
    child = child_on(model())
    os.kill(child._process.pid or 0, number)
    with pytest.raises(EngineError, match=cause):
        child.generate(HELLO)
    with pytest.raises(EngineError, match=number.name):
        child.forget()


def test_a_child_killed_while_it_answers_is_an_engine_error(child_on: Open, model: Model) -> None:
    child = child_on(model(answers="endless"), ctx=200_000)
    timer = threading.Timer(0.2, os.kill, (child._process.pid, signal.SIGSEGV))
    timer.start()
    with pytest.raises(EngineError, match="ended unexpectedly \\(signal SIGSEGV"):
        child.generate(ChatRequest(messages=HELLO.messages, max_tokens=190_000))
    timer.join()


def test_an_abort_of_llama_cpp_is_an_engine_error_with_its_words(child_on: Open, model: Model) -> None:
    twice = model(tokens=(*TOKENS[:-1], TOKENS[0]))
    with pytest.raises(EngineError, match=r"gave up \(signal SIGABRT\): .*GGML_ASSERT"):
        child_on(twice)


def test_a_crash_of_the_childs_own_code_is_an_engine_error_with_its_last_words(
    child_on: Open, model: Model
) -> None:
    child = child_on(model())
    with pytest.raises(EngineError, match=r"ended unexpectedly.*AttributeError: 'int' object"):
        child.generate(ChatRequest(messages=(5,)))  # type: ignore[arg-type]


def cut(path: Path, where: str, folder: Path) -> Path:
    """Return a damaged copy of a model: its header cut, its weights cut, or nonsense inside."""
    data = bytearray(path.read_bytes())
    if where == "header":
        del data[3000:]
    elif where == "weights":
        del data[-100_000:]
    elif where == "magic":
        data[:4] = b"GGML"
    elif where == "empty":
        del data[:]
    else:
        place = data.index(b"tokenizer.ggml.tokens")
        data[place + 21 + 4 + 4 : place + 21 + 4 + 4 + 8] = b"\xff" * 8
    damaged = folder / f"{where}.gguf"
    damaged.write_bytes(data)
    return damaged


@pytest.mark.parametrize("where", ["header", "weights", "magic", "empty", "count"])
def test_a_damaged_file_is_one_clear_error(where: str, child_on: Open, model: Model, tmp_path: Path) -> None:
    path = cut(model(), where, tmp_path)
    with pytest.raises(EngineError) as caught:
        child_on(path)
    assert str(path) in str(caught.value)
    assert "could not load this model" in str(caught.value)


@pytest.mark.parametrize(
    ("template", "message"),
    [(None, "holds no chat template"), ("{% if %}", "does not compile"), ("{{ ''.x.y }}", "cannot render")],
)
def test_a_model_that_cannot_be_asked_is_bad_input(
    template: str | None, message: str, child_on: Open, model: Model
) -> None:
    with pytest.raises(InputError, match=message):
        child_on(model(template=template)).generate(HELLO)


def test_opening_and_closing_leaves_no_process_and_no_file(
    settings_of: Callable[..., Any], model: Model
) -> None:
    def cycle() -> tuple[list[int], int]:
        child = ChildEngine(settings_of(model()))
        pid = child._process.pid or 0
        child.generate(HELLO)
        child.close()
        child.close()
        return [pid], len(list(Path("/proc/self/fd").iterdir()))

    if not Path("/proc/self/fd").exists():
        pytest.skip("this system does not list open files")
    before = cycle()[1]
    pids, after = [], 0
    for _ in range(5):
        ended, after = cycle()
        pids += ended
    assert after == before
    assert not any(is_running(pid) for pid in pids)


def test_a_closed_engine_says_so(child_on: Open, model: Model) -> None:
    child = child_on(model())
    child.close()
    with pytest.raises(EngineError, match="was closed"):
        child.generate(HELLO)


SCRIPT = """
import os, signal, sys, threading
from pathlib import Path
from bfcl_gate.errors import EdgeAgenticError
from bfcl_gate.model.chat import ChatRequest
from bfcl_gate.model.child_engine import ChildEngine
from bfcl_gate.model.engine import EngineSettings

def say(text):
    Path(sys.argv[2]).write_text(str(text))

def main():
    settings = EngineSettings(model_path=Path(sys.argv[1]), model_sha256="0", ctx=200_000, threads=1)
    request = ChatRequest(messages=({"role": "user", "content": "x"},), max_tokens=190_000)
    ACTION

if __name__ == "__main__":
    main()
"""
INTERRUPTED = """
    engine = ChildEngine(settings)
    say(engine._process.pid)
    try:
        engine.generate(request)
    except KeyboardInterrupt:
        engine.close()
        sys.exit(130)
"""
INTERRUPTED_AMONG_MANY = """
    engine = ChildEngine(settings)
    short = ChatRequest(messages=request.messages, max_tokens=5)
    long = ChatRequest(messages=request.messages, max_tokens=100_000)
    try:
        for _ in engine.generate_many([short, long, long], 3, False):
            say(engine._process.pid)
    except KeyboardInterrupt:
        engine.close()
        sys.exit(130)
"""
KILLED = """
    engine = ChildEngine(settings)
    say(engine._process.pid)
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGKILL)).start()
    engine.generate(request)
"""
FORGOTTEN = """
    engine = ChildEngine(settings)
    say(engine._process.pid)
    engine.generate(ChatRequest(messages=request.messages, max_tokens=5))
"""
FAILED = """
    try:
        ChildEngine(settings)
    except EdgeAgenticError as error:
        say(error)
"""


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str, Path], "subprocess.Popen[bytes]"]:
    """Run a program that uses an engine, in a process group of its own; its `say` writes tmp_path/said."""

    def run(action: str, path: Path) -> "subprocess.Popen[bytes]":
        file = tmp_path / "program.py"
        file.write_text(SCRIPT.replace("    ACTION\n", action))
        root = Path(__file__).resolve().parents[3]
        return subprocess.Popen(
            [sys.executable, str(file), str(path), str(tmp_path / "said")],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(root)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    return run


def said(folder: Path) -> str:
    deadline = time.monotonic() + WAIT_S
    while not (folder / "said").exists() or not (folder / "said").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return (folder / "said").read_text()


@pytest.mark.parametrize("action", [INTERRUPTED, INTERRUPTED_AMONG_MANY])
def test_ctrl_c_ends_the_answer_and_the_child_without_a_word(
    action: str, script: Callable[..., Any], model: Model, tmp_path: Path
) -> None:
    program = script(action, model(answers="endless"))
    child = int(said(tmp_path))
    time.sleep(0.2)
    os.killpg(program.pid, signal.SIGINT)
    assert program.communicate(timeout=WAIT_S) == (b"", b"")
    assert program.returncode == 130
    wait_until_gone(child)


def test_the_child_ends_with_its_parent(script: Callable[..., Any], model: Model, tmp_path: Path) -> None:
    program = script(KILLED, model(answers="endless"))
    child = int(said(tmp_path))
    program.communicate(timeout=WAIT_S)
    assert program.returncode == -signal.SIGKILL
    wait_until_gone(child)


def test_a_forgotten_engine_ends_with_its_program(
    script: Callable[..., Any], model: Model, tmp_path: Path
) -> None:
    program = script(FORGOTTEN, model(answers="endless"))
    assert program.communicate(timeout=WAIT_S) == (b"", b"")
    assert program.returncode == 0
    wait_until_gone(int(said(tmp_path)))


@pytest.mark.parametrize("damage", ["weights", "twice"])
def test_nothing_llama_cpp_says_reaches_the_terminal(
    damage: str, script: Callable[..., Any], model: Model, tmp_path: Path
) -> None:
    twice = (*TOKENS[:-1], TOKENS[0])
    path = model(tokens=twice) if damage == "twice" else cut(model(), damage, tmp_path)
    program = script(FAILED, path)
    assert program.communicate(timeout=WAIT_S) == (b"", b"")
    assert "llama.cpp" in said(tmp_path)
