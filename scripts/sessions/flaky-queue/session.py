"""Flaky tests made reproducible by hash seeds and a shuffled order, and the faults behind them; one tool."""

from steps import act, agent, bash, say, shell_task, think

SYSTEM, TOOLS = agent("shell")

TASK = shell_task("""
CI is red about every second time, locally "it works when I run it again". Find out which tests are flaky and why, make each of
the failures reproducible with one command, and repair the causes. Where the code is at fault repair the code; where a test is at fault,
repair the test, without testing less than before. In the end all tests must pass for hash seeds 0 to 15 and for shuffle seeds 0 to 9.

In production we also see that urgent jobs have to wait behind ordinary ones, which test_a_higher_priority_runs_first seems to exclude.
Have a look at that as well, please. README.md says how the queue is meant to work.
""")

CHECK = (
    "for s in 0 1 2 3 4 5; do PYTHONHASHSEED=$s python -m pytest -q || exit 1; python tests/shuffle.py $s || exit 1; done; "
    "grep -q 'def test_a_higher_priority_runs_first_however' tests/test_queue.py"
)

STEPS = [
    think("Look at the project first.", bash("cat README.md; find . -name '*.py' | sort | xargs wc -l")),
    think(
        "Run the tests a few times, as a person would.",
        bash("for i in 1 2 3; do python -m pytest -q 2>&1 | tail -n 4; done"),
    ),
    say(
        "The same three fail each time here. The hash seed may be fixed in this environment, which would hide the flakiness.",
        bash("env | grep -E 'PYTHON|PYTEST'"),
    ),
    say(
        "PYTHONHASHSEED is 0. I will vary it and count failures per test.",
        bash(
            'for s in $(seq 0 15); do PYTHONHASHSEED=$s python -m pytest -q 2>&1 | grep ^FAILED | sed "s/ - .*//; s/^/seed $s /"; done | awk \'{n[$4]++; s[$4] = s[$4] " " $2} END {for (t in n) print n[t], t, "seeds" s[t]}\' | sort -rn'
        ),
    ),
    think(
        "Two fail with every seed, one with about every second. Now the order, with the seed fixed.",
        bash(
            'cat tests/shuffle.py; for s in 0 1 2 3 4 5 6 7 8 9; do python tests/shuffle.py $s 2>&1 | grep ^FAILED | sed "s/ - .*//; s/^/order $s /"; done | awk \'{n[$4]++; s[$4] = s[$4] " " $2} END {for (t in n) print n[t], t, "orders" s[t]}\' | sort -rn'
        ),
    ),
    think("Now read the tests and the code.", bash("cat tests/test_queue.py")),
    act(bash("cat jobqueue/queue.py")),
    act(bash("cat jobqueue/handlers.py jobqueue/stats.py")),
    say(
        "Candidates: `stats=Stats()` is one object for all queues (a mutable default); HANDLERS is global and tests leave entries behind; `tags` is a set that is joined without sorting; `find` takes the first "
        "prefix, not the longest. First the unknown name. Which order makes it pass, which fail?",
        bash(
            "python -m pytest -q tests/test_queue.py::test_an_unknown_name_is_an_error 2>&1 | tail -n 1; python -m pytest -q tests/test_queue.py::test_a_prefix_is_found tests/test_queue.py::test_an_unknown_name_is_an_error 2>&1 | tail -n 2"
        ),
    ),
    say(
        "Alone it passes, after test_a_prefix_is_found it fails: that one leaves `mail.` in the registry. In file order it is always the one before. So that is a fault of the tests. "
        "Next the prefix test, by seed:",
        bash(
            "for s in 0 1 2; do PYTHONHASHSEED=$s python -m pytest -q tests/test_queue.py::test_the_longest_prefix_is_used 2>&1 | tail -n 1; PYTHONHASHSEED=$s python -c \"\nprint(list(set({'mail.': len, 'mail.list.': str})))\"; done"
        ),
    ),
    think(
        "With the seed the order of registration changes; the code takes whichever was registered first. The docstring of find says 'the longest prefix'. So here the code is wrong and the test right, though it goes over a set, which "
        "makes it depend on the seed. The test should try both orders explicitly. And the report?",
        bash(
            "for t in test_the_report_is_alphabetical; do python -m pytest -q tests/test_queue.py::$t 2>&1 | grep -E '^E  |passed|failed'; PYTHONHASHSEED=1 python -m pytest -q tests/test_queue.py::$t 2>&1 | grep -E '^E  |passed|failed'; done"
        ),
    ),
    say(
        "Even alone it fails: the handlers come in the order of first use (`ping` before `note`), README says alphabetical; the tags come in the order of the set. And within the whole file?",
        bash(
            "python -m pytest -q 2>&1 | sed -n '/test_the_report_is_alphabetical/,/short test summary/p' | grep -E '^E' "
        ),
    ),
    say(
        "In the whole file the report also counts the jobs of the tests before: the shared default Stats. Three causes in one test. I will repair them one after the other and watch the failure change. First the default argument.",
        bash(
            "sed -i 's/max_attempts=4, stats=Stats()):/max_attempts=4, stats=None):/; s/self._stats = stats$/self._stats = Stats() if stats is None else stats/' jobqueue/queue.py && grep -n 'tats' jobqueue/queue.py | head -n 4; python -m pytest -q 2>&1 | grep -E '^E  .*(note|ping|tags)|passed|failed'"
        ),
    ),
    act(
        bash(
            "sed -i 's/in self.by_handler.items()$/in sorted(self.by_handler.items(), key=lambda entry: entry[0])/; s/\", \".join(self.tags)/\", \".join(sorted(self.tags))/' jobqueue/stats.py && sed -n '/def text/,$p' jobqueue/stats.py; python -m pytest -q 2>&1 | grep -E '^FAILED|passed|failed'"
        )
    ),
    say(
        "The report is right now, in any order? The counts within a line (`1 added, 1 done`) come in the order in which things happened first, which is added, retried, done or failed: `added` is always first, but `retried` can come after `done` "
        "for another job of that handler. README says only handlers and tags are alphabetical, so I leave that.\n\nNext `find`.",
        bash("""python - <<'EOF'
from pathlib import Path
path = Path('jobqueue/handlers.py')
text = path.read_text('utf-8')
old = '''    for known in HANDLERS:
        if known.endswith(".") and name.startswith(known):
            return HANDLERS[known]
    raise KeyError(name)
'''
new = '''    prefixes = [known for known in HANDLERS if known.endswith(".") and name.startswith(known)]
    if not prefixes:
        raise KeyError(name)
    return HANDLERS[max(prefixes, key=len)]
'''
assert text.count(old) == 1
path.write_text(text.replace(old, new), 'utf-8')
EOF
for s in 0 1 2; do PYTHONHASHSEED=$s python -m pytest -q tests/test_queue.py::test_the_longest_prefix_is_used 2>&1 | tail -n 1; done; python -m pytest -q --doctest-modules jobqueue | tail -n 1"""),
    ),
    think(
        "Now the tests: the registry has to be as before after each test. An autouse fixture with monkeypatch-like save and restore. The `handler` decorator writes into HANDLERS in place; restore with clear+update. And start from an empty one? "
        "test_an_unknown_name needs that nothing like 'mail.' exists: empty at the start.",
        bash(r"""python - <<'EOF'
from pathlib import Path
path = Path('tests/test_queue.py')
text = path.read_text('utf-8')
def replace(old, new):
    global text
    assert text.count(old) == 1, old
    text = text.replace(old, new)
replace('''@pytest.fixture
def clock():
''', '''@pytest.fixture(autouse=True)
def empty_registry():
    # Each test registers its own handlers; those of others are kept away and put back.
    before = dict(HANDLERS)
    HANDLERS.clear()
    yield
    HANDLERS.clear()
    HANDLERS.update(before)


@pytest.fixture
def clock():
''')
replace('''def test_the_longest_prefix_is_used():
    functions = {"mail.": len, "mail.list.": str}
    for name in set(functions):
        handler(name)(functions[name])
''', '''@pytest.mark.parametrize("names", [["mail.", "mail.list."], ["mail.list.", "mail."]])
def test_the_longest_prefix_is_used(names):
    functions = {"mail.": len, "mail.list.": str}
    for name in names:
        handler(name)(functions[name])
''')
replace('''def test_a_prefix_is_found():
    HANDLERS.clear()
''', '''def test_a_prefix_is_found():
''')
path.write_text(text, 'utf-8')
EOF
python -m pytest -q 2>&1 | tail -n 3"""),
    ),
    think(
        "All green once. Now systematically.",
        bash(
            "for s in $(seq 0 15); do PYTHONHASHSEED=$s python -m pytest -q 2>&1 | tail -n 1 | sed 's/ in .*//'; done | sort | uniq -c; for s in $(seq 0 9); do python tests/shuffle.py $s 2>&1 | tail -n 1 | sed 's/ in .*//'; done | sort | uniq -c"
        ),
    ),
]
