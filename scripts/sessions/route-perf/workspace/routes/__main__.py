import argparse
from pathlib import Path

from routes.search import earliest, text_of
from routes.timetable import load

parser = argparse.ArgumentParser(prog="routes")
parser.add_argument("lines", type=Path)
parser.add_argument("start")
parser.add_argument("goal")
parser.add_argument("--at", default="00:00")
options = parser.parse_args()
hours, minutes = options.at.split(":")
print(text_of(earliest(load(options.lines), options.start, options.goal, int(hours) * 60 + int(minutes))))
