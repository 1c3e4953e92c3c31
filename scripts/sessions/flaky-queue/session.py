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
        "One test fails always, one depends on the seed, one almost always. Now the order, with the seed fixed.",
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
            "for s in 0 2 8; do PYTHONHASHSEED=$s python -m pytest -q tests/test_queue.py::test_the_longest_prefix_is_used 2>&1 | tail -n 1; PYTHONHASHSEED=$s python -c \"\nprint([n for n, f in dict.fromkeys({('mail.', len), ('mail.news.', str)})])\"; done"
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
for s in 0 2 8; do PYTHONHASHSEED=$s python -m pytest -q tests/test_queue.py::test_the_longest_prefix_is_used 2>&1 | tail -n 1; done; python -m pytest -q --doctest-modules jobqueue | tail -n 1"""),
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
    for name, function in dict.fromkeys({("mail.", len), ("mail.news.", str)}):
        handler(name)(function)
''', '''@pytest.mark.parametrize("names", [["mail.", "mail.news."], ["mail.news.", "mail."]])
def test_the_longest_prefix_is_used(names):
    functions = {"mail.": len, "mail.news.": str}
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
    say(
        "26 runs, all green. Now production: urgent jobs wait. In the test both jobs are put at the same time of a clock that stands still. With a real clock `due` differs by microseconds, and `__lt__` compares `due` first. "
        "Reproduce with a clock that moves a little with each look:",
        bash("""python - <<'EOF'
from jobqueue import Queue, handler
ran = []
handler('note')(ran.append)
now = iter(range(1000))
queue = Queue(clock=lambda: next(now) / 1000, sleep=lambda seconds: None)
for name, priority in (('low 1', 0), ('low 2', 0), ('urgent', 9), ('low 3', 0)):
    queue.put('note', name, priority)
queue.run_until_idle()
print(ran)
EOF"""),
    ),
    say(
        "There it is: `urgent` runs third, the priority counts only among jobs put in the same instant. And the order among equals? With one due time and equal priority a heap is not stable:",
        bash("""python - <<'EOF'
from jobqueue import Queue, handler
ran = []
handler('note')(ran.append)
queue = Queue(clock=lambda: 0.0)
for name in 'abcdefgh':
    queue.put('note', name)
queue.run_until_idle()
print(''.join(ran))
EOF"""),
    ),
    say(
        "Not at all in order; with three jobs, as in the test, it happens to come out right. README: of the jobs that are *due*, the highest priority first, then the one put first. That needs two heaps: one of waiting jobs by due time, one of due jobs by "
        "priority and number. A job that is retried: is it 'put' again? It keeps its number, I think: put first remains put first. Hmm, that lets a retried old job run before newer ones of the same priority, which fits the sentence.",
        bash(r"""python - <<'EOF'
from pathlib import Path
path = Path('jobqueue/queue.py')
text = path.read_text('utf-8')
def replace(old, new):
    global text
    assert text.count(old) == 1, old
    text = text.replace(old, new)
replace('''    def __init__(self, name, payload, priority, tags, due):
        self.name = name
''', '''    def __init__(self, number, name, payload, priority, tags, due):
        self.number = number
        self.name = name
''')
replace('''    def __lt__(self, other):
        return (self.due, -self.priority) < (other.due, -other.priority)
''', '''    def rank(self):
        # Of jobs that are due: high priority first, then the one put first.
        return -self.priority, self.number
''')
replace('''        self._heap = []
''', '''        self._waiting = []  # (due, number, job)
        self._ready = []  # (rank, job), due
''')
replace('''        job = Job(name, payload, priority, set(tags), self._clock() + delay)
        heapq.heappush(self._heap, job)
        self._stats.added(job)
        return next(self._numbers)
''', '''        job = Job(next(self._numbers), name, payload, priority, set(tags), self._clock() + delay)
        heapq.heappush(self._waiting, (job.due, job.number, job))
        self._stats.added(job)
        return job.number
''')
replace('''        while self._heap:
            job = heapq.heappop(self._heap)
            wait = job.due - self._clock()
            if wait > 0:
                self._sleep(wait)
            self._run(job)
''', '''        while self._ready or self._waiting:
            self._collect_due()
            if self._ready:
                self._run(heapq.heappop(self._ready)[1])
            else:
                self._sleep(self._waiting[0][0] - self._clock())

    def _collect_due(self):
        now = self._clock()
        while self._waiting and self._waiting[0][0] <= now:
            job = heapq.heappop(self._waiting)[2]
            heapq.heappush(self._ready, (job.rank(), job))
''')
replace('''                heapq.heappush(self._heap, job)
''', '''                heapq.heappush(self._waiting, (job.due, job.number, job))
''')
path.write_text(text, 'utf-8')
EOF
python -m pytest -q 2>&1 | tail -n 3"""),
    ),
    think(
        "One danger: sleep(due - clock()) could be negative if the clock moved on between; time.sleep raises ValueError for negative. Between _collect_due and the sleep the clock may pass due. Guard with max(0, …). "
        "Also floating: after sleeping exactly, now may be slightly below due; it loops again with a tiny sleep, fine.",
        bash(
            "sed -i 's/self._sleep(self._waiting\\[0\\]\\[0\\] - self._clock())/self._sleep(max(0.0, self._waiting[0][0] - self._clock()))/' jobqueue/queue.py && sed -n '/def run_until_idle/,/def _run/p' jobqueue/queue.py"
        ),
    ),
    think(
        "Reproductions again, both.",
        bash("""python - <<'EOF'
from jobqueue import Queue, handler
ran = []
handler('note')(ran.append)
now = iter(range(1000))
queue = Queue(clock=lambda: next(now) / 1000, sleep=lambda seconds: None)
for name, priority in (('low 1', 0), ('low 2', 0), ('urgent', 9), ('low 3', 0)):
    queue.put('note', name, priority)
queue.run_until_idle()
print(ran)
ran.clear()
queue = Queue(clock=lambda: 0.0)
for name in 'abcdefgh':
    queue.put('note', name)
queue.run_until_idle()
print(''.join(ran))
EOF"""),
    ),
    say(
        "Both right. With the real clock and real waiting, a short check, retries included:",
        bash("""python - <<'EOF'
import time
from jobqueue import Queue, Retry, handler
started, ran = time.monotonic(), []
tries = []
@handler('flaky')
def flaky(payload):
    tries.append(1)
    if len(tries) < 2:
        raise Retry
    ran.append('flaky')
handler('note')(ran.append)
queue = Queue()
queue.put('flaky', priority=1)
queue.put('note', 'now')
queue.put('note', 'later', delay=0.2)
queue.run_until_idle()
print(ran, 'about', round(time.monotonic() - started), 's')
print(queue.report())
EOF"""),
    ),
    think(
        "Now tests for these: priority with a moving clock, FIFO with eight, a job put by a handler while running, a retried job and its place, two queues do not share statistics, negative sleep.",
        bash(r"""cat >> tests/test_queue.py <<'EOF'


def test_a_higher_priority_runs_first_however_late_it_was_put(queue, ran, clock):
    for name, priority in (("low 1", 0), ("low 2", 0), ("urgent", 9)):
        queue.put("note", name, priority)
        clock.now += 0.001
    queue.run_until_idle()
    assert ran == ["urgent", "low 1", "low 2"]


def test_many_jobs_of_a_priority_run_in_the_order_they_were_put(queue, ran):
    for name in "abcdefgh":
        queue.put("note", name)
    queue.run_until_idle()
    assert "".join(ran) == "abcdefgh"


def test_a_job_that_is_not_due_does_not_hold_up_others(queue, ran, clock):
    queue.put("note", "late", priority=9, delay=5)
    queue.put("note", "now")
    queue.run_until_idle()
    assert (ran, clock.slept) == (["now", "late"], [5.0])


def test_a_job_may_put_others(queue, ran):
    @handler("parent")
    def parent(payload):
        queue.put("note", "child", priority=1)

    queue.put("parent")
    queue.put("note", "other")
    queue.run_until_idle()
    assert ran == ["child", "other"]


def test_queues_count_for_themselves(clock, ran):
    first, second = Queue(clock=clock), Queue(clock=clock)
    first.put("note", "x", tags={"net"})
    first.run_until_idle()
    assert second.report() == "tags: "


def test_the_queue_never_sleeps_for_less_than_nothing(ran):
    times = iter([0.0, 0.5, 2.0, 2.0, 2.0])
    slept = []
    queue = Queue(clock=lambda: next(times), sleep=slept.append)
    queue.put("note", "x", delay=1)
    queue.run_until_idle()
    assert (ran, slept) == (["x"], [0.0])
EOF
python -m pytest -q 2>&1 | tail -n 12"""),
    ),
    think(
        "Does each new test fail on the old code? The old queue.py is gone, but I can rebuild the essential: rank ignoring number, or due first.",
        bash(r"""try() { rm -rf mutant; mkdir mutant; cp -r jobqueue tests mutant; sed -i "$2" mutant/jobqueue/$1; cmp -s jobqueue/$1 mutant/jobqueue/$1 && echo 'NOT CHANGED'
  (cd mutant && python -m pytest -q 2>&1 | grep -E '^(FAILED|[0-9]+ (passed|failed))' | sed 's/ in .*//' | cut -c1-110); }
try queue.py 's/return -self.priority, self.number/return self.due, -self.priority, self.number/'
try queue.py 's/return -self.priority, self.number/return -self.priority, -self.number/'
try queue.py 's/max(0.0, \(.*\))$/\1/'
try handlers.py 's/max(prefixes, key=len)/prefixes[0]/'
try stats.py 's/sorted(self.tags)/self.tags/'
rm -rf mutant"""),
    ),
    say(
        "Each is noticed but the last, and that one only because the set comes out sorted with this hash seed; seed 1 would show it, which is why CI varies it. The whole matrix as demanded, with the exit codes this time:",
        bash(
            "bad=0; for s in $(seq 0 15); do PYTHONHASHSEED=$s python -m pytest -q > out.txt 2>&1 || bad=$((bad+1)); done; for s in $(seq 0 9); do python tests/shuffle.py $s > out.txt 2>&1 || bad=$((bad+1)); done; tail -n 1 out.txt | sed 's/ in .*//'; echo \"$bad of 26 runs failed\"; rm out.txt"
        ),
    ),
    act(
        bash(
            "find . -name __pycache__ -prune -o -type f -print | sort; cat jobqueue/queue.py | sed -n '12,60p'"
        )
    ),
    say(
        "All tests pass for hash seeds 0–15 and shuffle seeds 0–9 (26 of 26 runs).\n\n"
        "Flaky tests and their causes, with the command that showed them:\n"
        "- test_the_longest_prefix_is_used (`PYTHONHASHSEED=0` fails, others pass): `find` took the first registered prefix; now the longest. The test went over a set; it now tries both orders.\n"
        "- test_the_report_is_alphabetical: handlers and tags were not sorted, and all queues shared one Stats object through a default argument. Code repaired.\n"
        "- test_an_unknown_name_is_an_error (fails after test_a_prefix_is_found): tests left handlers behind. A fixture now gives each test an empty registry. Fault of the tests.\n\n"
        "Production: jobs were ordered by due time down to the microsecond, so priority never mattered with a real clock; and equal jobs did not keep their order beyond a few. The queue now keeps due jobs by priority and number, apart from those that "
        "wait. The test excluded nothing because its clock stands still; new tests use a moving one.\n\n"
        "Decision to check: a retried job keeps its place by the time it was first put."
    ),
]
