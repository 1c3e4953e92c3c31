"""Encodings, line ends, composed and wide letters in subtitles; seven tools."""

from steps import act, agent, bash, edit, files, plan, read, say

SYSTEM, TOOLS = agent("workbench")

TASK = """Our subtitle tool fails on four of the five files in films/, each in another way, and `find` misses words that are plainly there
(search for CAFÉ in the French film, or for STRASSENBAHN in the German one). README.md says what it is supposed to do. Please make
`check`, `find`, `shift` and `wrap` follow it for all five files and add tests. Names of films never have to be in the tests; build the bytes there."""

CHECK = r"""python -m pytest -q && python - <<'EOF'
import subprocess, sys
def run(*a): return subprocess.run([sys.executable, '-m', 'subs', *a], capture_output=True, text=True, encoding='utf-8')
assert run('check', 'films/').returncode == 1 and run('check', 'films/').stderr == ''
assert 'tram_de.srt' in run('find', 'strassenbahn', 'films/').stdout
assert 'ete_fr.srt' in run('find', 'CAFÉ', 'films/').stdout
assert 'shuden' in run('find', 'ジュルゲン', 'films/').stdout
run('shift', '-10', 'films/shuden_jp.srt', 'o.srt')
assert open('o.srt', encoding='utf-8').read().startswith('1\n00:00:03,597')
EOF"""

STEPS = [
    act(files("/workspace"), read("README.md")),
    act(read("subs/srt.py")),
    act(read("subs/text.py"), read("subs/check.py")),
    act(read("subs/cli.py"), read("tests/test_subs.py")),
    say(
        "I will run every command on every file, to see the failures before I think about their causes.",
        bash(
            'for f in films/*; do echo "== $f"; python -m subs check $f 2>&1 | tail -n 2 | cut -c1-160; done'
        ),
    ),
    act(
        bash(
            'for w in CAFÉ STRASSENBAHN jürgen ジュルゲン; do echo "== $w"; for f in films/*; do python -m subs find $w $f 2>/dev/null | head -n 1; done; done'
        )
    ),
    act(read("films/tram_de.srt", limit=8)),
    say(
        "Now what the files really hold: encoding, marks, line ends, blank lines between cues.",
        bash('for f in films/*; do echo "== $f $(wc -c < $f)"; head -c 64 $f | od -An -c | head -n 4; done'),
    ),
    say(
        "So: Windows-1252 with CR LF; UTF-8 with a mark; UTF-8 with decomposed letters (`e` + U+0301); UTF-16 with a mark; and UTF-8 with points in times and two blank lines between cues. "
        "tram_de.srt does not even fail: with CR LF there is no `\\n\\n`, so the whole file becomes one cue. Does Windows-1252 matter against Latin-1?",
        bash(
            "python - <<'EOF'\ndata = open('films/tram_de.srt', 'rb').read()\nodd = sorted({b for b in data if 0x80 <= b < 0xA0})\nprint([hex(b) for b in odd], bytes(odd).decode('cp1252'), repr(bytes(odd).decode('latin-1')))\nEOF"
        ),
    ),
    say(
        "Yes: quotation marks, dashes, the euro sign and the ellipsis would become control characters with Latin-1. Five bytes are undefined in Windows-1252 (81, 8D, 8F, 90, 9D); a file with one of them is then none of the encodings, and I want an SrtError rather than a guess.",
        plan(
            "> decoding and line ends",
            "- parsing: blank lines, times",
            "- find: case and form",
            "- width and wrap",
            "- shift: below 0, numbers, rounding, output",
            "- check: last cue",
            "- tests",
        ),
        edit(
            "subs/srt.py",
            '''    """Return the text of a file, whatever it is encoded in."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")''',
            '''    """Return the text of a file, its line ends as LF.

    Raises SrtError for bytes that are neither UTF-8, nor UTF-16 with a mark, nor Windows-1252.
    """
    encodings = ["utf-16"] if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else ["utf-8-sig", "cp1252"]
    for encoding in encodings:
        try:
            return data.decode(encoding).replace("\\r\\n", "\\n").replace("\\r", "\\n")
        except UnicodeDecodeError:
            continue
    raise SrtError(f"not {' nor '.join(encodings)}")''',
        ),
        edit("subs/srt.py", "import re\nfrom dataclasses", "import codecs\nimport re\nfrom dataclasses"),
    ),
    act(
        bash(
            'for f in films/*; do echo "== $f"; python -m subs check $f 2>&1 | tail -n 2 | cut -c1-120; done'
        )
    ),
    say(
        "Three read well now. Next parse. A block is separated by one *or more* blank lines; a line of blanks counts as blank too. A cue may also have no text at all: then number and times are followed by a blank line at once. "
        "And what does a file with nothing in it give?",
        bash(
            "python - <<'EOF'\nfrom subs.srt import parse\nfor text in ('', '\\n', '1\\n00:00:01,000 --> 00:00:02,000\\n\\n2\\n00:00:03,000 --> 00:00:04,000\\nx\\n', 'x', '1\\n00:00:01,5 --> 00:00:02,50\\nx', '1\\n00:00:01,000 --> 00:00:02,000 X1:40\\nx', 'eins\\n00:00:01,000 --> 00:00:02,000\\nx'):\n    try:\n        print(repr(text[:30]), parse(text))\n    except Exception as error:\n        print(repr(text[:30]), type(error).__name__, error)\nEOF"
        ),
    ),
    say(
        "An empty file is an IndexError, a bad number a ValueError, and `01,5` counts as 5 ms where it means 500. In shuden_jp.srt all fractions have three digits? I will handle it anyhow: a fraction is padded to three digits. Messages should hold the line, says the docstring of SrtError. "
        "I write parse with line numbers.",
        bash("grep -oE '[,.][0-9]+' films/shuden_jp.srt | awk '{print length($0) - 1}' | sort | uniq -c"),
    ),
    act(
        edit(
            "subs/srt.py",
            """    cues = []
    for block in re.split(r"\\n\\n", text.strip()):
        lines = block.split("\\n")
        found = ARROW.match(lines[1])
        if not found:
            raise SrtError(f"cue {lines[0]}: expected two times, found {lines[1]!r}")
        parts = found.groups()
        cues.append(Cue(int(lines[0]), _ms(parts[:4]), _ms(parts[4:]), tuple(lines[2:])))
    return cues


def _ms(parts):
    hours, minutes, seconds, fraction = map(int, parts)
    return ((hours * 60 + minutes) * 60 + seconds) * 1000 + fraction""",
            '''    cues = []
    for first, lines in _blocks(text):
        if not re.fullmatch(r"[0-9]+", lines[0]):
            raise SrtError(f"line {first}: expected a number, found {lines[0]!r}")
        times = lines[1] if len(lines) > 1 else ""
        found = ARROW.match(times)
        if not found:
            raise SrtError(f"line {first + 1}: expected two times, found {times!r}")
        parts = found.groups()
        cues.append(Cue(int(lines[0]), _ms(*parts[:4]), _ms(*parts[4:]), tuple(lines[2:])))
    return cues


def _blocks(text):
    """Yield (number of the first line, lines) for each run of lines that are not blank."""
    block = []
    for number, line in enumerate([*text.split("\\n"), ""], start=1):
        if line.strip():
            block.append(line.strip())
        elif block:
            yield number - len(block), block
            block = []


def _ms(hours, minutes, seconds, fraction):
    whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
    return whole * 1000 + int(fraction[:3].ljust(3, "0"))''',
        )
    ),
    act(
        bash(
            'for f in films/*; do echo "== $f"; python -m subs check $f 2>&1 | tail -n 2 | cut -c1-120; done; python -m pytest -q 2>&1 | tail -n 2'
        ),
        plan(
            "x decoding and line ends",
            "x parsing: blank lines, times",
            "> find: case and form",
            "- width and wrap",
            "- shift: below 0, numbers, rounding, output",
            "- check: last cue",
            "- tests",
        ),
    ),
]
