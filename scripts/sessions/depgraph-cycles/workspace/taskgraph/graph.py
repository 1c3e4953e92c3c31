"""The graph of the tasks."""


class GraphProblem(Exception):
    """Tasks that cannot be ordered."""


def build(tasks):
    """Return name → names it needs, groups resolved, in the order of the description."""
    names = [task.name for task in tasks]
    edges = {}
    for task in tasks:
        needs = []
        for needed in task.needs:
            if needed.startswith("@"):
                needs += [other.name for other in tasks if needed in other.groups]
            elif needed not in names:
                raise GraphProblem(f"{task.name} needs {needed}, which is not described")
            else:
                needs.append(needed)
        edges[task.name] = needs
    return edges


def order(edges):
    """Return the names in an order in which they can run."""
    done = []
    visiting = set()

    def visit(name):
        if name in done:
            return
        if name in visiting:
            raise GraphProblem("cycle: " + " → ".join([*visiting, name]))
        visiting.add(name)
        for needed in sorted(edges[name]):
            visit(needed)
        done.append(name)

    for name in sorted(edges):
        visit(name)
    return done


def levels(edges):
    """Return lists of names: those of a list need only names of the lists before."""
    level = {}
    for name in order(edges):
        level[name] = max((level[needed] + 1 for needed in edges[name]), default=0)
    found = []
    for name, number in level.items():
        while len(found) < number:
            found.append([])
        found[number - 1].append(name)
    return found


def paths(edges, start):
    """Return name → shortest path from `start` to it, for everything `start` needs."""
    found = {start: [start]}
    queue = [start]
    while queue:
        name = queue.pop()
        for needed in edges[name]:
            if needed not in found:
                found[needed] = found[name] + [needed]
                queue.append(needed)
    return found
