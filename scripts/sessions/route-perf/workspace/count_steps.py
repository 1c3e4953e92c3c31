"""Count the Python function calls of loading and of some questions; the numbers do not depend on the machine."""

import sys
from pathlib import Path

from routes.search import earliest, text_of
from routes.timetable import load

QUESTIONS = [("S001", "S040", 420), ("S005", "S077", 440), ("S060", "S002", 600), ("S012", "S013", 0)]


def counted(function, *arguments):
    calls = 0

    def hook(frame, event, argument):
        nonlocal calls
        calls += event == "call"

    sys.setprofile(hook)
    try:
        result = function(*arguments)
    finally:
        sys.setprofile(None)
    return result, calls


path = Path(sys.argv[1] if len(sys.argv) > 1 else "data/lines.csv")
table, calls = counted(load, path)
print(f"load            {calls:>9} calls")
for start, goal, minute in QUESTIONS:
    rides, calls = counted(earliest, table, start, goal, minute)
    print(f"{start} → {goal} {calls:>9} calls   {text_of(rides).splitlines()[-1]}")
