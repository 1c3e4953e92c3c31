"""Make a gate reference from a finished run: scripts/make_reference.py RUN_DIR [NAME] > references/FILE.json

The run must have been made with `bfcl-gate run --output RUN_DIR` and have answered its whole sample. NAME
defaults to the model's name in the run.
"""

import sys
from pathlib import Path

from bfcl_gate.errors import EdgeAgenticError, InputError
from bfcl_gate.gate_file import load_gate
from bfcl_gate.identity import samples_id
from bfcl_gate.references import Reference, reference_text
from bfcl_gate.run_folder import MANIFEST, read_json


def reference_of(folder: Path, name: str | None = None) -> Reference:
    """Return the reference that a finished run makes. Raises InputError for an unfinished or foreign one."""
    stored, manifest = load_gate(folder), read_json(folder / MANIFEST)
    header = stored.header or {}
    if samples_id(answer.id for answer in stored.answers) != header.get("samples_sha256"):
        raise InputError(
            f"{stored.path}: does not hold an answer to every sample of its gate; finish it with --resume."
        )
    failed = [answer.id for answer in stored.answers if answer.error is not None]
    if failed:
        raise InputError(f"{stored.path}: {len(failed)} requests failed ({failed[0]} first); run it again.")
    return Reference(
        name=name or manifest["model"]["name"],
        model=manifest["model"]["name"],
        model_sha256=manifest["model"]["sha256"],
        rules=header["rules"],
        tool_schemas=header["tool_schemas"],
        bfcl_sha256=header["bfcl_sha256"],
        checker_version=header["checker_version"],
        build=header["engine"]["build"],
        date=manifest["created_at"][:10],
        settings=header["engine"] | {"max_tokens": header["max_tokens"]},
        native={answer.id: answer.correct_native for answer in stored.answers},
        lenient={answer.id: answer.correct_lenient for answer in stored.answers},
    )


def main() -> int:
    """Print the reference made from the folder named on the command line."""
    if len(sys.argv) not in (2, 3):
        sys.stderr.write("Usage: make_reference.py RUN_DIR [NAME]\n")
        return 2
    try:
        sys.stdout.write(reference_text(reference_of(Path(sys.argv[1]), *sys.argv[2:])))
    except EdgeAgenticError as error:
        sys.stderr.write(f"Error: {error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
