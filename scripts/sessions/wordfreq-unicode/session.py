"""A command-line bug found by reproducing it, with an agent that has five tools, and a follow-up request."""


def _tool(name, description, required, **properties):
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {"type": "object", "properties": properties, "required": required},
        },
    }


_PATH = {"type": "string", "description": "Absolute path, or path relative to /workspace"}

SYSTEM = (
    "You are a careful software engineer working on the project in /workspace. Reproduce a fault before you "
    "change code, read a file before you edit it, and run the program again afterwards. Prefer edit_file to "
    "rewriting whole files. Say in a sentence or two what you found and what you will do, then call the tools. "
    "Several calls of one answer are executed in the order given."
)

TOOLS = [
    _tool(
        "bash",
        "Run a bash command in a new shell in /workspace. Returns the output of both streams, and the exit code "
        "if it is not 0. Commands are stopped after 60 seconds.",
        ["command"],
        command={"type": "string", "description": "The command to run"},
    ),
    _tool(
        "read_file",
        "Read a text file with line numbers.",
        ["path"],
        path=_PATH,
        offset={"type": "integer", "description": "First line to read, from 1", "minimum": 1},
        limit={"type": "integer", "description": "Number of lines, 200 if left out", "minimum": 1},
    ),
    _tool(
        "write_file",
        "Create a file, or replace all of an existing one.",
        ["path", "content"],
        path=_PATH,
        content={"type": "string", "description": "The whole new content"},
    ),
    _tool(
        "edit_file",
        "Replace one piece of text in a file. old_text must occur exactly once, including its white space.",
        ["path", "old_text", "new_text"],
        path=_PATH,
        old_text={"type": "string", "description": "The text to replace"},
        new_text={"type": "string", "description": "The text to put there"},
    ),
    _tool(
        "search",
        "Search files with a regular expression. Returns path:line:text for each matching line.",
        ["pattern"],
        pattern={"type": "string", "description": "Python regular expression"},
        path=_PATH,
        glob={"type": "string", "description": "Only files whose name matches, for example *.py"},
    ),
]

TASK = """A user reports: "python -m wordfreq samples/garten.txt --limit 3 prints only two lines, and the words
are cut to pieces: there is no word 'k' and no word 'fer' in my text." Please fix both."""

CHECK = (
    "python -m wordfreq samples/garten.txt --limit 3 | grep -q '4  der' && "
    "test $(python -m wordfreq samples/garten.txt --limit 3 | wc -l) = 3 && "
    "python -m pytest -q && test -f tests/test_unicode.py"
)

STEPS = [
    {
        "content": "I will run the reported command and look at the input.",
        "calls": [
            (
                "bash",
                {
                    "command": "python -m wordfreq samples/garten.txt --limit 3; echo ---; cat samples/garten.txt"
                },
            ),
            ("bash", {"command": "find . -name '*.py' | sort | xargs wc -l"}),
        ],
    },
    {
        "content": "Both faults show. The pieces point to a pattern for ASCII letters, the missing line to how the "
        "limit is applied; I will find both places.",
        "calls": [
            ("search", {"pattern": r"re\.compile|limit", "glob": "*.py"}),
            ("read_file", {"path": "/workspace/wordfreq/tokens.py"}),
        ],
    },
    {
        "content": "`[A-Za-z]+` splits at every umlaut, and `limit - 1` drops a line. I will correct the slice first.",
        "calls": [
            (
                "edit_file",
                {
                    "path": "/workspace/wordfreq/count.py",
                    "old_text": "return ranked[:limit - 1]",
                    "new_text": "return ranked[:limit]",
                },
            )
        ],
    },
    {
        "content": "The spacing differs from what I wrote, so I will use the text as the search printed it, and "
        "replace the pattern by one for letters of any script: word characters that are neither digit nor underscore.",
        "calls": [
            (
                "edit_file",
                {
                    "path": "/workspace/wordfreq/count.py",
                    "old_text": "return ranked[: limit - 1]",
                    "new_text": "return ranked[:limit]",
                },
            ),
            (
                "edit_file",
                {
                    "path": "/workspace/wordfreq/tokens.py",
                    "old_text": 'WORD = re.compile(r"[A-Za-z]+")',
                    "new_text": 'WORD = re.compile(r"[^\\W\\d_]+")',
                },
            ),
        ],
    },
    {
        "content": "Now the reported command again, and two inputs at the edges.",
        "calls": [
            ("bash", {"command": "python -m wordfreq samples/garten.txt --limit 3"}),
            (
                "bash",
                {
                    "command": "printf 'na\\u00efve caf\\u00e9 \\u65e5\\u672c\\u8a9e x_1 \\u03b1\\u03b2\\u03b3 Caf\\u00e9' > probe.txt; "
                    'python -m wordfreq probe.txt; echo "exit $?"; rm probe.txt'
                },
            ),
        ],
    },
    {
        "content": "All three lines are right and other scripts stay whole. I will pin both faults down with tests "
        "and run everything.",
        "calls": [
            (
                "write_file",
                {
                    "path": "/workspace/tests/test_unicode.py",
                    "content": "from wordfreq.count import ranking\n"
                    "from wordfreq.tokens import words\n\n\n"
                    "def test_umlauts_do_not_split_words():\n"
                    '    assert words("Über den Käfer") == ["über", "den", "käfer"]\n\n\n'
                    "def test_digits_and_underscores_are_no_letters():\n"
                    '    assert words("x_1 y2z") == ["x", "y", "z"]\n\n\n'
                    "def test_the_limit_is_the_number_of_words():\n"
                    '    assert ranking("b a a c", 2) == [("a", 2), ("b", 1)]\n',
                },
            ),
            ("bash", {"command": "python -m pytest -q 2>&1 | tail -n 4"}),
        ],
    },
    {
        "content": "Both faults are fixed: `wordfreq/tokens.py` now takes letters of any script, and "
        "`wordfreq/count.py` no longer drops the last line of the ranking. `tests/test_unicode.py` covers both; "
        "all 4 tests pass.",
    },
    {
        "user": "Great. What happens with --limit 0 or a negative limit now? It should be refused with a clear message."
    },
    {
        "content": "I will see what it does today and where the option is declared.",
        "calls": [
            (
                "bash",
                {
                    "command": "for n in 0 -1; do python -m wordfreq samples/garten.txt --limit $n | wc -l; done; "
                    "grep -n 'limit' wordfreq/__main__.py"
                },
            )
        ],
    },
    {
        "content": "A limit of -1 prints all but one word, which nobody means. I will refuse everything below 1 where "
        "the arguments are parsed.",
        "calls": [
            (
                "edit_file",
                {
                    "path": "/workspace/wordfreq/__main__.py",
                    "old_text": "    arguments = parser.parse_args()\n",
                    "new_text": "    arguments = parser.parse_args()\n"
                    "    if arguments.limit < 1:\n"
                    '        parser.error(f"--limit must be at least 1, not {arguments.limit}")\n',
                },
            ),
            ("bash", {"command": "python -m wordfreq samples/garten.txt --limit -1"}),
            (
                "bash",
                {
                    "command": "python -m wordfreq samples/garten.txt --limit 1 && python -m pytest -q | tail -n 1"
                },
            ),
        ],
    },
    {
        "content": '`--limit` below 1 now ends with exit code 2 and "--limit must be at least 1"; before, 0 printed '
        "nothing and -1 silently left out the last word. The tests still pass.",
    },
]
