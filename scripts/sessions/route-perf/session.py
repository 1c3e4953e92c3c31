"""Performance work judged by counted calls instead of a clock, with answers that must not change; one tool."""

from steps import act, agent, bash, replacing, say, shell_task, think

SYSTEM, TOOLS = agent("shell")

TASK = shell_task("""
`python -m routes` is too slow for the display at the stops. count_steps.py counts the function calls of typical questions, so we can compare without a clock.
Please bring the loading below 20,000 calls and each question below 4,000, without changing a single answer: neither the rides of a connection nor which one of several
equally good ones is chosen (see the docstring of `earliest`). Prove that the answers are the same, not only for the four questions. Keep the public names
(`load`, `Timetable.rides_from`, `earliest`, `text_of`, `Ride`).
""")

CHECK = r"""python count_steps.py | awk '{c = $1 == "load" ? $2 : $4; max = $1 == "load" ? 20000 : 4000; if (c > max) bad = 1} END {exit bad}' \
&& python count_steps.py | grep -q '10:03 S020 → 10:12 S040'"""

COMPARE = """cat > compare.py <<'EOF'
\"\"\"Compare the answers of the package with those of the old one, stored in answers.txt.\"\"\"
import random, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from routes.search import earliest, text_of
from routes.timetable import load
table = load(Path('data/lines.csv'))
stops = sorted({stop for ride in table.rides for stop in (ride.start, ride.goal)})
rng = random.Random(42)
for _ in range(int(sys.argv[2])):
    start, goal = rng.choice(stops), rng.choice(stops)
    minute = rng.choice([0, 330, 420, 435, 500, 600, 700, 800])
    print(start, goal, minute, text_of(earliest(table, start, goal, minute)).replace('\\n', ' | '))
EOF
"""

STEPS = [
    think(
        "Look at the project.",
        bash("cat README.md; wc -l routes/*.py count_steps.py data/*; head -n 5 data/lines.csv"),
    ),
    act(bash("cat routes/timetable.py")),
    act(bash("cat routes/search.py")),
    act(bash("cat count_steps.py routes/__main__.py")),
    think("The state before.", bash("python count_steps.py")),
    say(
        "1.7 million calls for loading 1,183 rows, 300,000 for a question. Before I touch anything I keep the old package and its answers for many random questions.",
        bash(
            "mkdir old && cp -r routes old/ && "
            + COMPARE
            + "python compare.py old 120 > answers.txt; wc -l answers.txt; cut -d' ' -f4- answers.txt | sort | uniq -c | sort -rn | head -n 4; grep -c '|' answers.txt"
        ),
    ),
    say(
        "120 questions, a third with changes. Are there ties among them, so that the choice between equal connections is tested at all? I will count later with a smaller timetable, made for ties. First: where do the calls go?",
        bash(
            "python - <<'EOF'\nimport cProfile, pstats, io\nfrom pathlib import Path\nfrom routes.timetable import load\nprofile = cProfile.Profile()\nprofile.runcall(load, Path('data/lines.csv'))\nout = io.StringIO()\npstats.Stats(profile, stream=out).sort_stats('ncalls').print_stats(6)\nfor line in out.getvalue().splitlines():\n    part = line.split()\n    if part and part[0].isdigit() and len(part) > 5:\n        print(part[0], part[-1])\nEOF"
        ),
    ),
    say(
        "`ride not in self.rides` compares with every ride so far, two `key` calls each. Ride has a hash, so a set will do. `rides` is a public list whose order matters (rides_from returns in that order, and equal queue entries keep the order of insertion), so I keep the list beside the set.",
        replacing(
            "routes/timetable.py",
            (
                "        self.rides = []\n        self.stops = []\n",
                "        self.rides = []\n        self.stops = []\n        self._known = set()\n        self._from = {}\n",
            ),
            (
                "        if ride not in self.rides:\n            self.rides.append(ride)\n        for stop in (ride.start, ride.goal):\n            if stop not in self.stops:\n                self.stops.append(stop)\n",
                "        if ride in self._known:\n            return\n        self._known.add(ride)\n        self.rides.append(ride)\n        for stop in (ride.start, ride.goal):\n            if stop not in self._from:\n                self._from[stop] = []\n                self.stops.append(stop)\n        self._from[ride.start].append(ride)\n",
            ),
            (
                "        return [ride for ride in self.rides if ride.start == stop and ride.departure >= minute]",
                "        return [ride for ride in self._from.get(stop, ()) if ride.departure >= minute]",
            ),
            then="python count_steps.py",
        ),
    ),
    think(
        "Load is at ~8,000? and questions are the same in calls, because a list comprehension counts as one call; in Python 3.12 comprehensions are inlined, so counts may differ by version. Where are the calls of a question?",
        bash(
            "python -c 'import sys; print(sys.version_info[:2])'; python - <<'EOF'\nimport cProfile, pstats, io\nfrom pathlib import Path\nfrom routes.timetable import load\nfrom routes.search import earliest\ntable = load(Path('data/lines.csv'))\nprofile = cProfile.Profile()\nprofile.runcall(earliest, table, 'S001', 'S040', 420)\nout = io.StringIO()\npstats.Stats(profile, stream=out).sort_stats('ncalls').print_stats(8)\nfor line in out.getvalue().splitlines():\n    part = line.split()\n    if part and part[0].isdigit() and len(part) > 5:\n        print(part[0], ' '.join(part[5:]))\nEOF"
        ),
    ),
    say(
        "Each step sorts the whole queue again, and the sort key builds the list of trips for every entry. A heap keeps the order with the same key; entries that compare equal must come out in the order they were put in, as a stable sort had it, so a running number goes behind the key. "
        "The rides lists must not be compared.",
        bash(
            "cat > new.txt <<'END'\n    best = set()\n    numbers = itertools.count()\n    # The number keeps equal entries in the order they were found in; rides are never compared.\n    queue = [(minute, 0, [], next(numbers), [], start, None)]\n    while queue:\n        now, changes, trips, _, rides, stop, trip = heapq.heappop(queue)\n        if stop == goal:\n            return rides\n        if (stop, trip) in best:\n            continue\n        best.add((stop, trip))\n        for ride in table.rides_from(stop, now):\n            stays = trip is None or ride.trip == trip\n            if stays or ride.departure >= now + CHANGE:\n                entry = (\n                    ride.arrival,\n                    changes + (0 if stays else 1),\n                    [*trips, ride.trip],\n                    next(numbers),\n                    [*rides, ride],\n                    ride.goal,\n                    ride.trip,\n                )\n                heapq.heappush(queue, entry)\n    return None\nEND\npython - <<'EOF'\nfrom pathlib import Path\npath = Path('routes/search.py')\ntext = path.read_text('utf-8')\nstart, end = text.index('    best = {}'), text.index('\\n\\ndef text_of')\ntext = text[:start] + Path('new.txt').read_text('utf-8') + text[end:]\ntext = text.replace('\"\"\"The search.\"\"\"\\n', '\"\"\"The search.\"\"\"\\n\\nimport heapq\\nimport itertools\\n')\npath.write_text(text, 'utf-8')\nEOF\nrm new.txt; python count_steps.py; python compare.py . 120 | diff - answers.txt && echo 'same answers'"
        ),
    ),
    say(
        "All targets are met in calls, and the answers are the same. But calls are a stand-in for time; heapq is C and does not count. How large does the queue get, and how many entries are popped? That is the true work.",
        bash(
            "cat > work.py <<'EOF'\nimport heapq, sys\nfrom pathlib import Path\nimport routes.search as search\nfrom routes.timetable import load\nclass Counting:\n    pushed = popped = 0\n    def heappush(self, queue, entry):\n        self.pushed += 1\n        heapq.heappush(queue, entry)\n    def heappop(self, queue):\n        self.popped += 1\n        return heapq.heappop(queue)\ntable = load(Path('data/lines.csv'))\nfor start, goal, minute in (('S001', 'S040', 420), ('S005', 'S077', 440), ('S012', 'S013', 0)):\n    search.heapq = counting = Counting()\n    search.earliest(table, start, goal, minute)\n    print(start, goal, 'pushed', counting.pushed, 'popped', counting.popped)\nEOF\npython work.py"
        ),
    ),
    say(
        "Many entries are pushed although their (stop, trip) is visited already. Two ways to push less: skip rides whose (goal, trip) is in `best`, which cannot change anything since such an entry would be skipped when popped; and, more daring, visit a stop only once. Is the second right? "
        "Arriving at a stop later with another trip can still matter: staying on that trip needs no CHANGE. Let me try both on the answers, the daring one first, because it would save most.",
        bash(
            "cp routes/search.py keep.py; sed -i 's/        if (stop, trip) in best:/        if stop in best:/; s/        best.add((stop, trip))/        best.add(stop)/' routes/search.py; python work.py; python compare.py . 120 | diff - answers.txt | head -n 6; cp keep.py routes/search.py"
        ),
    ),
    say(
        "It is much less work and it is wrong: later and with more changes, as I feared. So only the safe one.",
        bash(
            "rm keep.py; sed -i 's/            if stays or ride.departure >= now + CHANGE:/            if (ride.goal, ride.trip) not in best and (stays or ride.departure >= now + CHANGE):/' routes/search.py; grep -n 'not in best' routes/search.py; python work.py; python compare.py . 120 | diff - answers.txt && echo same"
        ),
    ),
    think(
        "Hmm. It helps little. Most pushed entries: every later ride of the day from each stop is pushed. From one stop, for the same trip there's just one ride (per trip), except round trips. So pushing all departures of the day from each stop is the cost. "
        "For each (stop, trip) reached we push all ~50 later rides. Once a stop has been visited at time t with a change allowed, all its rides departing at ≥ t+CHANGE were pushed already; a later visit by another trip pushes them again with (same arrival, ≥? changes, other trips). "
        "These duplicates have the same goal and trip; the first popped wins: the key (arrival, changes, trips). Arrival is equal. So the one with fewer changes, then smaller trips. A later visit could have fewer changes! So it can't be dropped without comparing keys. But one can keep, per (goal, trip, arrival)... per ride the best (changes, trips) pushed so far and skip worse ones. Equal keys: first pushed wins — with equal keys skip the later. That is safe.",
        replacing(
            "routes/search.py",
            ("    best = set()\n", "    best = set()\n    pushed = {}\n"),
            (
                "                entry = (\n                    ride.arrival,\n                    changes + (0 if stays else 1),\n                    [*trips, ride.trip],\n                    next(numbers),\n                    [*rides, ride],\n                    ride.goal,\n                    ride.trip,\n                )\n                heapq.heappush(queue, entry)\n",
                "                rank = changes + (0 if stays else 1), [*trips, ride.trip]\n                # Whoever takes the same ride by a worse way would be skipped when its turn comes.\n                if ride in pushed and pushed[ride] <= rank:\n                    continue\n                pushed[ride] = rank\n                heapq.heappush(queue, (ride.arrival, *rank, next(numbers), [*rides, ride], ride.goal, ride.trip))\n",
            ),
            then="python work.py; python compare.py . 120 | diff - answers.txt && echo same; python count_steps.py",
        ),
    ),
    say(
        "The heap holds much less with the same answers, but the calls went up: `ride in pushed` hashes by `key`, which is Python code. Caching the key in the ride, or using its identity: rides are unique objects in a table (the set saw to that). "
        "`id(ride)` is safe as long as the table lives, yet I would rather number them. Better: make the key once.",
        replacing(
            "routes/search.py",
            (
                "                if ride in pushed and pushed[ride] <= rank:\n                    continue\n                pushed[ride] = rank\n",
                "                taken = ride.trip, ride.departure, ride.goal\n                if taken in pushed and pushed[taken] <= rank:\n                    continue\n                pushed[taken] = rank\n",
            ),
            then="python work.py; python compare.py . 120 | diff - answers.txt && echo same; python count_steps.py",
        ),
    ),
    think(
        "Wait: (trip, departure, goal) identifies a ride from a known stop? In `pushed` start isn't included. A trip leaving two different stops at the same minute to the same goal: A→B departs 10:00 arrives 10:00?, B... A trip visits stops in sequence, e.g. X dep 10:00 arr Y 10:00 … a ride Y→… different goal. Zero-minute rides: X dep 10:00 → G arr 10:00, then G dep 10:00... the goal differs unless a loop. For safety include start; a tuple of four costs nothing.",
        bash(
            "sed -i 's/taken = ride.trip, ride.departure, ride.goal$/taken = ride.trip, ride.start, ride.departure, ride.goal, ride.arrival/' routes/search.py && sed -n '/^def earliest/,/return None/p' routes/search.py"
        ),
    ),
    say(
        "Now `rides_from`: it scans all rides of a stop, though only those from `minute` on are wanted. Sorted by departure, bisect would find the place; but the order of the list is the order of the file, and with it the order of equal entries. Does this order matter? Two entries with the same "
        "arrival, changes and trips: same trips means the same rides, unless a trip serves a stop twice. Then the order decides. So either keep the order or prove that it is irrelevant. How long are the lists?",
        bash(
            "python - <<'EOF'\nfrom pathlib import Path\nfrom routes.timetable import load\ntable = load(Path('data/lines.csv'))\nsizes = sorted(len(rides) for rides in table._from.values())\nprint('rides', len(table.rides), 'stops', len(table.stops), 'per stop: median', sizes[len(sizes) // 2], 'max', sizes[-1])\nEOF"
        ),
    ),
    say(
        "Fourteen rides per stop, 36 at most. A scan of that is cheap, bisect would save next to nothing and put the order at risk. I leave it. Now the proof: a timetable full of ties, against the old package. Small random tables with few minutes, trips that visit a stop twice, repeated rows.",
        bash(
            "cat > ties.py <<'EOF'\nimport importlib, random, sys\nfrom pathlib import Path\ndef package(folder):\n    for name in [n for n in sys.modules if n.startswith('routes')]:\n        del sys.modules[name]\n    sys.path.insert(0, folder)\n    modules = importlib.import_module('routes.timetable').load, importlib.import_module('routes.search')\n    sys.path.pop(0)\n    return modules\nold_load, old = package('old')\nnew_load, new = package('.')\nassert old is not new and 'old' in old.__file__\nrng = random.Random(7)\nasked = differ = ties = 0\nfor round in range(250):\n    rows = ['trip,stop,arrival,departure']\n    for trip in rng.sample('ABCDEFGH', rng.randrange(2, 8)):\n        minute = rng.randrange(0, 6)\n        for _ in range(rng.randrange(2, 6)):\n            leave = minute + rng.choice([0, 0, 1])\n            rows.append(f'{trip},{rng.choice(\"vwxyz\")},{minute},{leave}')\n            if rng.random() < 0.1:\n                rows.append(rows[-1])\n            minute = leave + rng.choice([0, 1, 2, 3])\n    Path('ties.csv').write_text('\\n'.join(rows) + '\\n')\n    tables = old_load(Path('ties.csv')), new_load(Path('ties.csv'))\n    for start in 'vwxyz':\n        for goal in 'vwxyz':\n            for minute in (0, 3):\n                asked += 1\n                a, b = old.earliest(tables[0], start, goal, minute), new.earliest(tables[1], start, goal, minute)\n                a, b = (None if r is None else [ride.key() for ride in r] for r in (a, b))\n                if a != b:\n                    differ += 1\n                    if differ < 3:\n                        print(start, goal, minute, a, b)\nprint(asked, 'questions,', differ, 'differ')\nEOF\npython ties.py"
        ),
    ),
    say(
        "12,500 questions and not one differs, among them trips that visit a stop twice and repeated rows. Would this test notice a wrong order of ties? I change the tie-break on purpose.",
        bash(
            "cp routes/search.py keep.py; sed -i 's/rank = changes + (0 if stays else 1), \\[\\*trips, ride.trip\\]/rank = changes + (0 if stays else 1), [*trips, ride.trip][::-1]/' routes/search.py; python ties.py | tail -n 1; cp keep.py routes/search.py; sed -i 's/pushed\\[taken\\] <= rank/pushed[taken] < rank/' routes/search.py; cmp -s keep.py routes/search.py || python ties.py | tail -n 1; cp keep.py routes/search.py; sed -i 's/rank = changes + (0 if stays else 1)/rank = 0/' routes/search.py; python ties.py | tail -n 1; mv keep.py routes/search.py"
        ),
    ),
    say(
        "A wrong tie-break is noticed; `<` in place of `<=` rightly makes no difference, it only pushes more. More random questions on the real timetable as well, since 120 are few:",
        bash(
            "python compare.py old 250 > answers.txt; python compare.py . 250 | diff - answers.txt && echo same; wc -l < answers.txt"
        ),
    ),
    think(
        "Also the public interface: rides_from for an unknown stop returns [] as before; Timetable.stops order; add of a double ride.",
        bash(
            "python - <<'EOF'\nimport sys\nfrom pathlib import Path\nsys.path.insert(0, 'old')\nimport routes.timetable as old\nfirst = old.load(Path('data/lines.csv'))\nfor name in [n for n in sys.modules if n.startswith('routes')]:\n    del sys.modules[name]\nsys.path.pop(0)\nimport routes.timetable as new\nsecond = new.load(Path('data/lines.csv'))\nassert old.__file__ != new.__file__\nprint([r.key() for r in first.rides] == [r.key() for r in second.rides], first.stops == second.stops)\nprint(second.rides_from('nowhere', 0), all([r.key() for r in first.rides_from(s, m)] == [r.key() for r in second.rides_from(s, m)] for s in first.stops for m in (0, 400, 800)))\nEOF"
        ),
    ),
    say(
        "The same. One thing I noticed while reading: `add` looked for doubles before, and added the stops of a double again without effect; returning early is the same. The last look at the numbers and the code, and the scratch files go.",
        bash(
            "python count_steps.py; rm -rf old compare.py ties.py ties.csv work.py answers.txt; find . -name __pycache__ -prune -o -type f -print | sort; python -m routes data/lines.csv S001 S040 --at 07:00"
        ),
    ),
    act(bash("cat routes/timetable.py | sed -n '/^class Timetable/,/^def load/p'")),
    say(
        "Both targets are met and the answers are the same ones.\n\n"
        "- Loading compared each ride with all before; a set does it now (1.7 million calls before, see count_steps.py for now). Rides are also kept per stop.\n"
        "- The search sorted its whole queue in each step. It uses a heap with the same order (arrival, changes, trips, then order of discovery) and does not push a ride again for a way that is no better.\n\n"
        "Proof: 250 random questions on the real timetable and 12,500 on 250 small ones full of ties, loops and repeated rows give exactly the rides of the old code; a deliberately changed tie-break is noticed by the same comparison. "
        "`rides`, `stops` and `rides_from` return the same in the same order.\n\n"
        "Tried and rejected: visiting each stop only once. It is much less work, but returns later connections, since staying on a trip needs no time to change. Left alone: `rides_from` still scans the rides of one stop (36 at most)."
    ),
]
