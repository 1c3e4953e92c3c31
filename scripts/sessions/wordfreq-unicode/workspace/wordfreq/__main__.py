"""`python -m wordfreq FILE [--limit N]`"""

import argparse
from pathlib import Path

from wordfreq.count import ranking


def main():
    parser = argparse.ArgumentParser(prog="wordfreq")
    parser.add_argument("file", type=Path)
    parser.add_argument("--limit", type=int, default=10)
    arguments = parser.parse_args()
    for word, count in ranking(arguments.file.read_text("utf-8"), arguments.limit):
        print(f"{count:>4}  {word}")


main()
