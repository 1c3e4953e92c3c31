"""Short names for writing the turns of a session: what the agent says, thinks and calls.

A step is `say(text, call, …)`, `think(text, call, …)` (kept as reasoning) or `act(call, …)`; `asks(text)` is
a later request of the user. `agent(name)` gives the system prompt and the tools of scripts/agents/NAME.
"""

import json
from pathlib import Path
from typing import Any

AGENTS = Path(__file__).resolve().parent / "agents"

Call = tuple[str, dict[str, Any]]
Step = dict[str, Any]


def agent(name: str) -> tuple[str, list[dict[str, Any]]]:
    """Return the system prompt and the tool schemas of an agent."""
    folder = AGENTS / name
    system = (folder / "system.md").read_text("utf-8").strip()
    return system, json.loads((folder / "tools.json").read_text("utf-8"))


def shell_task(text: str) -> str:
    """Return the first message of the shell agent: the task and the rules it works by."""
    rules = (AGENTS / "shell" / "task.md").read_text("utf-8").strip()
    return rules.replace("{{task}}", text.strip())


def say(text: str, *calls: Call) -> Step:
    return {"content": text, "calls": calls}


def think(text: str, *calls: Call) -> Step:
    return {"reasoning_content": text, "calls": calls}


def act(*calls: Call) -> Step:
    return {"calls": calls}


def each(text: str, *calls: Call) -> list[Step]:
    """One turn per call; the text stands before the first."""
    return [say(text, calls[0]), *(act(call) for call in calls[1:])]


def asks(text: str) -> Step:
    return {"user": text}


def bash(command: str, **options: Any) -> Call:
    return "bash", {"command": command, **options}


def read(path: str, offset: int | None = None, limit: int | None = None) -> Call:
    window = {"offset": offset, "limit": limit}
    return "read_file", {"path": path, **{key: value for key, value in window.items() if value is not None}}


def write(path: str, content: str) -> Call:
    return "write_file", {"path": path, "content": content}


def edit(path: str, old_text: str, new_text: str, **options: Any) -> Call:
    return "edit_file", {"path": path, "old_text": old_text, "new_text": new_text, **options}


def search(pattern: str, **options: Any) -> Call:
    return "search", {"pattern": pattern, **options}


def files(path: str = "/workspace", **options: Any) -> Call:
    return "list_files", {"path": path, **options}


def plan(*items: str) -> Call:
    """Items are `x done`, `> in progress` or `- pending`."""
    states = {"x": "completed", ">": "in_progress", "-": "pending"}
    return "update_plan", {"plan": [{"step": item[2:], "status": states[item[0]]} for item in items]}


def replacing(path: str, *changes: tuple[str, str], then: str = "") -> Call:
    """A shell command that replaces passages of a file, each of which must occur once, and runs `then`."""
    pairs = "".join(f"    (r'''{old}''', r'''{new}'''),\n" for old, new in changes)
    assert pairs.count("'''") == 4 * len(changes)
    return bash(
        f"python - <<'EOF'\nfrom pathlib import Path\npath = Path({path!r})\ntext = path.read_text('utf-8')\n"
        f"for old, new in [\n{pairs}]:\n    assert text.count(old) == 1, old\n    text = text.replace(old, new)\n"
        f"path.write_text(text, 'utf-8')\nEOF\n{then}".rstrip()
    )
