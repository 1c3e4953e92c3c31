"""Putting the tree together and writing it: everything is made before the first file is written."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bfcl_gate.errors import InputError, SourceError
from bfcl_gate.run_folder import require_no_file
from edge_agentic.mlperf_export.account import Account
from edge_agentic.mlperf_export.accuracy import accuracy_results
from edge_agentic.mlperf_export.config import config, find_seeds
from edge_agentic.mlperf_export.eligibility import EXAMPLE, division_of, kind_of, shortfalls
from edge_agentic.mlperf_export.evidence import read_evidence
from edge_agentic.mlperf_export.readme import readme, src_readme
from edge_agentic.mlperf_export.summary import result_summary
from edge_agentic.mlperf_export.system import STATUSES, measurements_json, system_json, unknown_fields

BENCHMARK, SCENARIO = "qwen3.6-27b", "SingleStream"

_IN_NAMES = frozenset(" ._+-()")
_LONGEST_NAME = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """What the submitter says: their name, the system's, and how the tree is meant.

    `division` None is closed, or open with `any_run`, which takes any finished and gated run for an example. Raises
    InputError for names that make no folder and for unknown words.
    """

    submitter: str
    system: str
    division: str | None = None
    any_run: bool = False
    seeds: str = "checker"
    status: str = "rdi"

    def __post_init__(self) -> None:
        _require_name("--submitter", self.submitter)
        _require_name("--system", self.system)
        find_seeds(self.seeds)
        if self.status not in STATUSES:
            raise InputError(f"--status {self.status!r} is unknown; expected one of {', '.join(STATUSES)}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What was written, and the account that its README gives of it."""

    account: Account
    files: tuple[Path, ...]


def export_run(run: Path, folder: Path, options: ExportOptions) -> Exported:
    """Write the submission tree of a stored run into `folder`, which must not exist or be empty.

    Raises InputError for a folder that holds something, a directory that holds no finished and gated run, and a run
    that is no submission of the division; SourceError when the disk refuses.
    """
    _require_empty(folder)
    evidence = read_evidence(run)
    found = shortfalls(evidence)
    kind = kind_of(found, options.division, options.any_run, run)
    system = system_json(
        evidence,
        division=division_of(kind),
        submitter=options.submitter,
        system=options.system,
        status=options.status,
        note="an example of the layout, no submission" if kind == EXAMPLE else "",
    )
    measurements = measurements_json(evidence)
    account = Account(
        evidence=evidence,
        kind=kind,
        submitter=options.submitter,
        system=options.system,
        seeds=find_seeds(options.seeds),
        shortfalls=found,
        to_fill=tuple(_to_fill(system, measurements)),
    )
    return Exported(account=account, files=_write(folder, _texts(account, system, measurements)))


def _require_name(option: str, name: str) -> None:
    """Raise InputError for a name that is no plain folder name on every system."""
    allowed = all(c.isalnum() or c in _IN_NAMES for c in name)
    if not (allowed and name[:1].isalnum() and name[-1] not in " ." and len(name) <= _LONGEST_NAME):
        raise InputError(
            f"{option} {name[:_LONGEST_NAME]!r}: becomes the name of a folder; expected 1 to {_LONGEST_NAME} letters, "
            "digits, spaces and . _ + - ( ), a letter or digit first, no space or dot last. Choose such a name, for "
            "example Example-Lab."
        )


def _require_empty(folder: Path) -> None:
    require_no_file(folder, "OUT ")
    try:
        held = next(folder.iterdir(), None) if folder.exists() else None
    except OSError as error:
        raise InputError(
            f"OUT {folder}: cannot be read ({error.strerror}); expected an empty folder."
        ) from error
    if held is not None:
        raise InputError(
            f"OUT {folder}: holds something already ({held.name}); expected a folder that is empty or does not exist. "
            "Choose another one."
        )


def _to_fill(system: Mapping[str, str], measurements: Mapping[str, str]) -> Iterator[str]:
    """Yield what no run can know, file by file."""
    yield f"systems/{system['system_name']}.json: {', '.join(unknown_fields(system))}"
    if system["status"] == "rdi":
        yield "status rdi (research, development, internal) is stated; --status available or preview if it is so"
    if fields := unknown_fields(measurements):
        yield f"measurements.json: {', '.join(fields)}"
    yield "src: the source that made the run"
    yield "to attest: whether the model reasoned (the reference ran without); the README has its template arguments"


def _texts(account: Account, system: Mapping[str, str], measurements: Mapping[str, str]) -> dict[Path, str]:
    """Return every file of the tree by its path below the output folder."""
    import yaml  # here, so that commands without YAML start fast

    base = Path(account.division) / account.submitter
    results = base / "results" / account.system / BENCHMARK / SCENARIO
    evidence, seeds = account.evidence, account.seeds
    return {
        base / "src" / "README.md": src_readme(account),
        base / "systems" / f"{account.system}.json": _json(system),
        results / "config.yaml": yaml.safe_dump(config(evidence, seeds), sort_keys=False),
        results / "README.md": readme(account),
        results / "measurements.json": _json(measurements),
        results / "performance" / "result_summary.json": _json(result_summary(evidence, seeds)),
        results / "accuracy" / "accuracy_results.json": _json(accuracy_results(evidence)),
    }


def _json(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _write(folder: Path, texts: Mapping[Path, str]) -> tuple[Path, ...]:
    for path, text in texts.items():
        place = folder / path
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text.encode())  # bytes, so that no system changes the ends of lines
        except OSError as error:
            raise SourceError(
                f"{place}: cannot be written ({error.strerror}), so the tree is incomplete. Remove {folder}, free some "
                "space, and export again."
            ) from error
    return tuple(folder / path for path in texts)
