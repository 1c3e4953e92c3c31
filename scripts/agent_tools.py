"""The tools a recorded agent calls, executed for real in a throw-away copy of a workspace.

The agent sees its workspace at `/workspace`. The copy lies in a temporary folder instead, so the path is
rewritten both ways: `/workspace` to the folder in what is executed, the folder to `/workspace` in what
comes back (and the interpreter's own folders to `/usr`). Nothing else of an output is changed.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

WORKSPACE = "/workspace"
TIMEOUT_S = 600
"""More than what agents are told: how busy the recording machine is must not end a command."""


class ToolError(Exception):
    """What a tool answers when it cannot do what the call asks; the agent reads it like any result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """A copy of a workspace at `root` (absolute, without symbolic links)."""

    root: Path

    @classmethod
    def copy_of(cls, source: Path, folder: Path) -> "Workspace":
        """Copy `source` into `folder`, which holds nothing else."""
        root = folder.resolve() / "copy"
        shutil.copytree(source, root, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
        return cls(root=root)

    def inward(self, text: str) -> str:
        """Rewrite the agent's path to the copy's."""
        return re.sub(rf"{WORKSPACE}\b", str(self.root), text)

    def outward(self, text: str) -> str:
        """Rewrite the copy's path, and those of the interpreter, to what the agent sees."""
        text = text.replace(str(self.root), WORKSPACE)
        for prefix in (sys.prefix, sys.base_prefix):
            text = text.replace(prefix, "/usr")
        return text

    def path(self, name: str) -> Path:
        """Return the file the agent names, which must lie in the workspace."""
        path = Path(self.inward(name))
        path = (path if path.is_absolute() else self.root / path).resolve()
        if not path.is_relative_to(self.root):
            raise ToolError(f"{name} is outside of {WORKSPACE}")
        return path

    def run(self, command: str, timeout_s: float = TIMEOUT_S) -> tuple[str, int]:
        """Run a bash command in the copy and return its output (both streams, in order) and exit code.

        A command that takes longer is killed with everything it started; its exit code is then -9.
        """
        process = subprocess.Popen(
            ["bash", "-c", self.inward(command)],
            cwd=self.root,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
        return self.outward(output.decode("utf-8", errors="replace")), process.returncode


def _environment() -> dict[str, str]:
    """Return a fixed environment: nothing of the recording machine but the interpreter's folder."""
    return {
        "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": "/nonexistent",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "TERM": "dumb",
        "COLUMNS": "100",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTEST_ADDOPTS": "-p no:cacheprovider",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }


def call_tool(workspace: Workspace, name: str, arguments: Mapping[str, object]) -> str:
    """Execute one call and return the text the agent gets back."""
    try:
        return _TOOLS[name](workspace, **arguments)
    except UnicodeDecodeError as error:
        return f"Error: not valid UTF-8 text (byte {error.start})"
    except (ToolError, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return f"Error: {reason}"


def _bash(workspace: Workspace, command: str, timeout_s: float = TIMEOUT_S) -> str:
    output, code = workspace.run(command, timeout_s)
    if code == 0:
        return output or "(no output)"
    return f"{output.rstrip()}\n[exit code {code}]".lstrip()


def _read_file(workspace: Workspace, path: str, offset: int = 1, limit: int = 200) -> str:
    lines = workspace.path(path).read_text("utf-8").splitlines()
    shown = lines[offset - 1 : offset - 1 + limit]
    return "\n".join(f"{number:>5}\t{line}" for number, line in enumerate(shown, start=offset))


def _write_file(workspace: Workspace, path: str, content: str) -> str:
    target = workspace.path(path)
    known = target.exists()
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(content, "utf-8")
    return f"{'Overwrote' if known else 'Created'} {path} ({len(content.splitlines())} lines)"


def _edit_file(
    workspace: Workspace, path: str, old_text: str, new_text: str, replace_all: bool = False
) -> str:
    target = workspace.path(path)
    text = target.read_text("utf-8")
    count = text.count(old_text)
    if count == 0 or (count > 1 and not replace_all):
        raise ToolError(f"old_text occurs {count} times in {path}; it must occur exactly once")
    target.write_text(text.replace(old_text, new_text), "utf-8")
    return f"Edited {path}" + (f" ({count} times)" if replace_all else "")


def _search(workspace: Workspace, pattern: str, path: str = WORKSPACE, glob: str = "*") -> str:
    expression = re.compile(pattern)
    hits = [
        f"{file.relative_to(workspace.root)}:{number}:{line}"
        for file in _files(workspace, path, glob)
        for number, line in enumerate(_text(file).splitlines(), start=1)
        if expression.search(line)
    ]
    return "\n".join(hits) or "No matches"


def _list_files(workspace: Workspace, path: str = WORKSPACE, glob: str = "*") -> str:
    found = [
        f"{file.stat().st_size:>8}  {file.relative_to(workspace.root)}"
        for file in _files(workspace, path, glob)
    ]
    return "\n".join(found) or "No files"


def _update_plan(_: Workspace, plan: Sequence[Mapping[str, str]]) -> str:
    done = sum(item["status"] == "completed" for item in plan)
    return f"Plan noted: {done} of {len(plan)} steps completed"


def _files(workspace: Workspace, path: str, glob: str) -> list[Path]:
    start = workspace.path(path)
    if not start.exists():
        raise ToolError(f"{path} does not exist")
    found = [start] if start.is_file() else start.rglob(glob)
    return sorted(file for file in found if file.is_file() and "__pycache__" not in file.parts)


def _text(file: Path) -> str:
    """Return the file's text, nothing for one that is not text."""
    try:
        return file.read_text("utf-8")
    except UnicodeDecodeError:
        return ""


_TOOLS = {
    "bash": _bash,
    "read_file": _read_file,
    "write_file": _write_file,
    "edit_file": _edit_file,
    "search": _search,
    "list_files": _list_files,
    "update_plan": _update_plan,
}
