"""Check the documentation: links, headings, examples, the table of codes, docstrings. Prints one line per problem."""

import ast
import contextlib
import doctest
import io
import re
import sys
from pathlib import Path

sys.path.insert(0, ".")
from device.codes import CODES  # noqa: E402

problems = []


def anchors(path):
    found = re.findall(r"^#+ (.+)$", path.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in found}


for path in [Path("README.md"), *sorted(Path("docs").glob("*.md"))]:
    text = path.read_text("utf-8")
    for target in re.findall(r"\]\(([^)]+)\)", text):
        name, _, anchor = target.partition("#")
        file = path if not name else path.parent / name
        if not file.exists():
            problems.append(f"{path}: link to {target}: there is no such file")
        elif anchor and anchor not in anchors(file):
            problems.append(f"{path}: link to {target}: there is no such heading")
    levels = [len(marks) for marks in re.findall(r"^(#+) ", text, re.M)]
    if any(after > before + 1 for before, after in zip(levels, levels[1:])):
        problems.append(f"{path}: a heading skips a level")
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        failed, tried = doctest.testfile(str(path.resolve()), module_relative=False)
    if failed:
        problems.append(f"{path}: {failed} of {tried} examples do not give what is shown")
        if "-v" in sys.argv:
            print(shown.getvalue())

numbers = [code[0] for code in CODES]
for number in sorted({n for n in numbers if numbers.count(n) > 1}):
    problems.append(f"device/codes.py: {number} is there {numbers.count(number)} times")
if numbers != sorted(numbers):
    problems.append("device/codes.py: not in order")
rows = re.findall(r"^\| (\d+) \| (.+?) \| (.+?) \| (.*?) \|$", Path("docs/codes.md").read_text("utf-8"), re.M)
documented = {int(number): (group, text, action) for number, group, text, action in rows}
for number, group, text, action in CODES:
    if number not in documented:
        problems.append(f"docs/codes.md: {number} is missing")
    elif documented[number] != (group, text, action or "–"):
        problems.append(f"docs/codes.md: {number} differs from device/codes.py")
for number in sorted(documented.keys() - set(numbers)):
    problems.append(f"docs/codes.md: {number} does not exist")

for path in sorted(Path("device").glob("*.py")):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            docstring = ast.get_docstring(node) or ""
            if not docstring:
                problems.append(f"{path}:{node.lineno}: {node.name} has no docstring")
            elif any(isinstance(part, ast.Raise) for part in ast.walk(node)) and "Raises" not in docstring:
                problems.append(f"{path}:{node.lineno}: {node.name} does not say what it raises")

print("\n".join(problems) or "no problems")
sys.exit(bool(problems))
