"""Values of options that no run could use: said at once, by the option's name, before anything is fetched."""

from importlib import import_module
from pathlib import Path

import pytest

SERVER = ["--endpoint", "http://127.0.0.1:9/v1", "--model", "m"]


@pytest.mark.parametrize(
    "given",
    [
        ["run", *SERVER, "--request-timeout", "nan"],
        ["run", *SERVER, "--request-timeout", "inf"],
        ["run", *SERVER, "--request-timeout", "1e300"],
        ["run", *SERVER, "--concurrency", "4097"],
        ["run", "--template-arg", "x=NaN"],
        ["run", "--template-arg", "x=1e999"],
        ["run", "--template-arg", "x=" + "9" * 5_000],
        ["run", "--template-arg", "x=" + "[" * 200 + "]" * 200],
        ["run", "--template-arg", "x=" + "[" * 100_000],
        ["run", "--template-arg", r'x="\ud800"'],
        ["run", "--template-arg", "x=\udcff"],
        ["run", *SERVER, "--template-arg", "x=Infinity"],
        ["run", "--model", "\udcff.gguf"],
        ["run", "--endpoint", "http://127.0.0.1:9/v1", "--model", "\udcff"],
        ["run", "--model", "m", "--endpoint", "http://127.0.0.1:9/\udcff"],
    ],
)
@pytest.mark.parametrize("module", ["edge_agentic", "bfcl_gate"])
def test_what_no_engine_can_be_given_is_refused(
    module: str,
    given: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert given[-2] in refusal(module, [*given, "--output", "run"], tmp_path, monkeypatch, capsys)


@pytest.mark.parametrize(
    "given",
    [
        ["serve-scripted", "--slots", "4097"],
        ["serve-scripted", "--pause", "nan"],
        ["serve-scripted", "--pause", "inf"],
        ["serve-scripted", "--ctx", str(2**31)],
        ["doctor", *SERVER, "--concurrency", "4097"],
        ["run", *SERVER, "--sweep", "9" * 5_000],
        ["run", "--slo", "ttft=" + "9" * 400 + "s"],
        ["run", "--min-overall", "nan"],
        ["traces", "import", "x", "--output", "y", "--max-delay", "nan"],
    ],
)
def test_what_no_command_can_use_is_refused(
    given: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert given[-2] in refusal("edge_agentic", given, tmp_path, monkeypatch, capsys)


def refusal(
    module: str,
    given: list[str],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> str:
    """Return what a command says of its options, having written nothing and left with 2."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.argv", [module, *given])
    with pytest.raises(SystemExit) as stop:
        import_module(f"{module}.cli").main()
    out, err = capsys.readouterr()
    assert (stop.value.code, out, list(folder.iterdir())) == (2, "", [])
    assert len(err) < 1_000
    return err
