"""A dependency graph: failing tests, order of output, cycles, deep recursion, a parser that eats half a line; one tool."""

from steps import act, agent, bash, say, shell_task, think

SYSTEM, TOOLS = agent("shell")

TASK = shell_task("""
Three tests of the taskgraph package fail since its author left, and the people who use it report:

- `levels` crashes on examples/site.tasks.
- For examples/cycle.tasks the message names tasks that have nothing to do with the cycle.
- For a description with a chain of 1,500 tasks, examples/deep.tasks, `levels` or `order` end with a RecursionError
  as soon as the chain is described from its end.
- A command in site.tasks lost its second half.

Make the tests pass and the reports disappear; README.md is the specification. Do not change the existing tests. Look for
further places where the code does not do what README.md says, and cover what you repair with tests in tests/test_repairs.py.
""")

CHECK = (
    "python -m pytest -q && test -f tests/test_repairs.py && python -m taskgraph levels examples/site.tasks && "
    "python -m taskgraph order examples/deep.tasks | head -n 1 | grep -q step_aaaa && "
    "python -m taskgraph order examples/cycle.tasks 2>&1 | grep -q 'cycle: integration → seed → cache → report → integration'"
)

PY = "python - <<'EOF'\n"

STEPS = [
    think(
        "Look around first.",
        bash("cat README.md && find . -name '*.py' -o -name '*.tasks' | sort | xargs wc -l"),
    ),
    think("Which tests fail, and how?", bash("python -m pytest -q 2>&1 | tail -n 70")),
    think("Now the code the tests exercise.", bash("cat taskgraph/graph.py")),
    act(bash("cat taskgraph/reader.py")),
    act(bash("cat taskgraph/cli.py")),
    think("And the example the users work with.", bash("cat examples/site.tasks")),
    say(
        "I see the cause of several faults: `order` sorts names instead of keeping the order of the description, `visiting` is a set without order that is never emptied, `levels` uses "
        "`number - 1`, and `paths` pops from the end, so it searches depth first. First I reproduce the reports.",
        bash(
            "python -m taskgraph levels examples/site.tasks 2>&1 | tail -n 2; python -m taskgraph order examples/cycle.tasks"
        ),
    ),
    think(
        "The chain: is deep.tasks described from its end?",
        bash(
            "head -n 2 examples/deep.tasks; tail -n 1 examples/deep.tasks; python -m taskgraph order examples/deep.tasks | sed -n '1p;$p'"
        ),
    ),
    say(
        "It works today, but only by accident: sorting the names visits `step_aaaa` first, so every visit is one level deep. Once I keep the order of the description it will recurse 1,500 deep. With names reversed:",
        bash(
            "tr 'abcdefghij' 'jihgfedcba' < examples/deep.tasks | sed 's/^[^ ]*/task/; s/ [a-z]*_/ step_/g' > deep2.tasks; head -n 2 deep2.tasks; python -m taskgraph order deep2.tasks 2>&1 | tail -n 1"
        ),
    ),
    say(
        "There is the RecursionError. What exactly does README want: 'among tasks that are ready, the one described first runs first'. That is not the depth-first order: take `a : x`, `b`, `x`. Ready at the start are b and x; "
        "b is described before x, so the order is b, x, a. Depth first gives x, a, b. What do the tests say about that?",
        bash("grep -n 'order(' -B1 -A2 tests/test_graph.py"),
    ),
    think(
        "`zeta, alpha, mid` fits both. So the README decides: Kahn's algorithm with a heap of positions; no recursion at all. Cycle: if tasks are left, search a cycle among them. "
        "Which one when there are several? 'beginning with the one described first' — of the cycle. For a deterministic choice: walk from the first remaining task, always the first need that remains, until one repeats; "
        "then rotate so the earliest described is first. Every remaining task has at least one remaining need, so the walk must repeat.",
        bash(
            r'''cat > new.txt <<'END'
def order(edges):
    """Return the names in an order in which they can run; of those that are ready, the first in `edges` is next.

    Raises GraphProblem naming the tasks of a cycle.
    """
    names = list(edges)
    position = {name: number for number, name in enumerate(names)}
    waiting = {name: len(edges[name]) for name in names}
    needed_by = {name: [] for name in names}
    for name in names:
        for needed in edges[name]:
            needed_by[needed].append(name)
    ready = [position[name] for name in names if not waiting[name]]
    done = []
    while ready:
        name = names[heapq.heappop(ready)]
        done.append(name)
        for other in needed_by[name]:
            waiting[other] -= 1
            if not waiting[other]:
                heapq.heappush(ready, position[other])
    if len(done) < len(names):
        left = set(names) - set(done)
        raise GraphProblem("cycle: " + " → ".join(_cycle(edges, [name for name in names if name in left])))
    return done


def _cycle(edges, left):
    """Return a cycle among the tasks left over, its first task at both ends."""
    path = [left[0]]
    while True:
        name = next(needed for needed in edges[path[-1]] if needed in left)
        if name in path:
            break
        path.append(name)
    cycle = path[path.index(name) :]
    first = cycle.index(min(cycle, key=left.index))
    cycle = cycle[first:] + cycle[:first]
    return [*cycle, cycle[0]]


END
python - <<'EOF'
from pathlib import Path
path = Path("taskgraph/graph.py")
text = path.read_text("utf-8")
start, end = text.index("def order(edges):"), text.index("def levels(edges):")
path.write_text(text[:start] + Path("new.txt").read_text("utf-8") + text[end:], "utf-8")
EOF
rm new.txt; sed -i '1a\\nimport heapq' taskgraph/graph.py && head -n 8 taskgraph/graph.py && python -m pytest -q 2>&1 | tail -n 5''',
        ),
    ),
    think(
        "The order and cycle tests pass; one is left. Fix levels next: the first level is index 0.",
        bash("grep -n 'def levels' -A 11 taskgraph/graph.py"),
    ),
    think(
        "`level` counts from 0, so `found[number]` with `len(found) <= number`.",
        bash(
            "sed -i 's/while len(found) < number:/while len(found) <= number:/; s/found\\[number - 1\\]/found[number]/' taskgraph/graph.py && python -m pytest -q 2>&1 | tail -n 4; python -m taskgraph levels examples/site.tasks"
        ),
    ),
    think(
        "Levels work. The shortest path: a queue that is taken from the front.",
        bash("grep -n 'queue' taskgraph/graph.py"),
    ),
    think(
        "test_the_path_is_the_shortest passed before... with pop() from the end: a → [b, d]; pops d first → e via d. By luck. An example where depth first fails: swap b and d.",
        bash(
            PY
            + "from taskgraph.graph import build, paths\nfrom taskgraph.reader import read\nedges = build(read('task a : d b\\ntask b : c\\ntask c : e\\ntask d : e\\ntask e'))\nprint(paths(edges, 'a')['e'])\nEOF"
        ),
    ),
    say(
        "Wrong with the needs the other way round. A deque it is.",
        bash(
            "sed -i 's/    queue = \\[start\\]/    queue = deque([start])/; s/name = queue.pop()/name = queue.popleft()/; s/^import heapq/import heapq\\nfrom collections import deque/' taskgraph/graph.py && python -m taskgraph why examples/site.tasks report && grep -n 'import' taskgraph/graph.py"
        ),
    ),
    think(
        "Now the cycle report and the chains.",
        bash(
            "python -m taskgraph order examples/cycle.tasks; echo \"exit $?\"; for f in examples/deep.tasks deep2.tasks; do python -m taskgraph order $f | sed -n '1p;$p'; python -m taskgraph levels $f | wc -l; done"
        ),
    ),
    say(
        "Cycle and chains are right. Is a cycle of 1,500 tasks quick? `name in path` and `left.index` are linear, so this is quadratic.",
        bash(
            "(cat deep2.tasks | head -n 1499; echo 'task '$(tail -n 1 deep2.tasks | cut -d' ' -f2)' : '$(head -n 1 deep2.tasks | cut -d' ' -f2)) > ring.tasks; timeout 20 python -m taskgraph order ring.tasks 2>&1 | cut -c1-60; python -m taskgraph order ring.tasks 2>&1 | grep -o → | wc -l"
        ),
    ),
    think(
        "Instant enough at 1,500 arrows. Make `left` membership cheap? Not necessary. Now the lost command: `#` in the command of css2.",
        bash(
            "grep -n -A1 'css2 ' examples/site.tasks; python -c \"from taskgraph.reader import read; print([t.commands for t in read(open('examples/site.tasks').read()) if t.name == 'css2'])\""
        ),
    ),
    say(
        "`line.split('#')[0]` cuts everywhere. README shows comments only as lines of their own (`# comment`). So a line is a comment when its first character that is not blank is `#`; hmm, what about `task a : b  # why`? "
        "It was accepted so far; do the examples use it?",
        bash("grep -n '#' examples/*.tasks | grep -v ':#' | grep -v css2; grep -rn '#' tests/*.py | head"),
    ),
    say(
        "Nobody uses trailing comments, but they worked on task lines and I do not want to break them there: on a task line I keep cutting at ` #`, in a command nothing is cut. An indented line that begins with # stays a comment.",
        bash(
            PY
            + r"""from pathlib import Path
path = Path('taskgraph/reader.py')
text = path.read_text('utf-8')
old = '''        line = line.split("#")[0].rstrip()
        if not line:
            continue
        if line[0] in " \\t":
'''
new = '''        line = line.rstrip()
        if not line or line.lstrip().startswith("#"):
            continue
        if line[0] in " \\t":
'''
assert text.count(old) == 1
text = text.replace(old, new)
old = '''            tasks.append(_task(line[5:], number))
'''
assert text.count(old) == 1
path.write_text(text.replace(old, '''            # In a command a # may be anything, for example a colour.
            tasks.append(_task(line[5:].split("#")[0], number))
'''), 'utf-8')
EOF
python -c "from taskgraph.reader import read; print([t.commands for t in read(open('examples/site.tasks').read()) if t.name == 'css2'])"; python -m pytest -q | tail -n 1"""
        ),
    ),
]
