"""The session goes on: the report from production."""

from steps import act, bash, say, think

STEPS = [
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
        "- test_the_longest_prefix_is_used (`PYTHONHASHSEED=0` fails, 1 passes): `find` took the first registered prefix; now the longest. The test went over a set; it now tries both orders.\n"
        "- test_the_report_is_alphabetical: handlers and tags were not sorted, and all queues shared one Stats object through a default argument. Code repaired.\n"
        "- test_an_unknown_name_is_an_error (fails after test_a_prefix_is_found): tests left handlers behind. A fixture now gives each test an empty registry. Fault of the tests.\n\n"
        "Production: jobs were ordered by due time down to the microsecond, so priority never mattered with a real clock; and equal jobs did not keep their order beyond a few. The queue now keeps due jobs by priority and number, apart from those that "
        "wait. The test excluded nothing because its clock stands still; new tests use a moving one.\n\n"
        "Decision to check: a retried job keeps its place by the time it was first put."
    ),
]
