import pytest

from taskgraph.graph import GraphProblem, build, levels, order, paths
from taskgraph.reader import SyntaxProblem, read


def graph(text):
    return build(read(text))


def test_needed_tasks_come_first():
    assert order(graph("task a : b\ntask b : c\ntask c")) == ["c", "b", "a"]


def test_a_group_stands_for_its_tasks():
    assert graph("task all : @doc\ntask x @doc\ntask y @doc") == {"all": ["x", "y"], "x": [], "y": []}


def test_an_unknown_task_is_refused():
    with pytest.raises(GraphProblem, match="a needs b, which is not described"):
        graph("task a : b")


def test_a_command_needs_a_task():
    with pytest.raises(SyntaxProblem, match="1: a command before the first task"):
        read("  echo")


def test_levels_count_the_longest_way():
    assert levels(graph("task a\ntask b : a\ntask c : b a\ntask d")) == [["a", "d"], ["b"], ["c"]]


def test_two_tasks_that_need_each_other_are_a_cycle():
    with pytest.raises(GraphProblem, match="cycle"):
        order(graph("task a : b\ntask b : a"))


def test_ready_tasks_run_in_the_order_of_the_description():
    assert order(graph("task zeta\ntask alpha\ntask mid : alpha zeta")) == ["zeta", "alpha", "mid"]


def test_a_cycle_names_its_tasks_in_order():
    text = "task start : a\ntask a : b\ntask b : c\ntask c : a\ntask other"
    with pytest.raises(GraphProblem, match=r"^cycle: a → b → c → a$"):
        order(graph(text))


def test_the_path_is_the_shortest():
    edges = graph("task a : b d\ntask b : c\ntask c : e\ntask d : e\ntask e")
    assert paths(edges, "a")["e"] == ["a", "d", "e"]
