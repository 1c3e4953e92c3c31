"""A template is a program from a stranger: it sees no Python, makes no noise and comes to an end."""

import pytest

from bfcl_gate.model import sandbox
from bfcl_gate.model.sandbox import FAILURES, Sandbox


def run(source: str, **variables: object) -> str:
    environment = Sandbox(lambda value: value)
    return environment.run(environment.from_string(source), variables)


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ items.__class__.__base__.__subclasses__() }}",
        "{{ raise_exception.__globals__['json'] }}",
        "{{ strftime_now.__closure__[0] }}",
        "{{ '{0.__class__.__mro__}'.format(1) }}",
        "{{ '{x.__class__.__mro__}'.format_map({'x': 1}) }}",
        "{{ cycler.__init__.__globals__ }}",
        "{{ self._TemplateReference__context.environment }}",
        "{{ (''|attr('__class__')).mro() }}",
        "{% include '/etc/passwd' %}",
        "{% import 'os' as os %}",
    ],
)
def test_pythons_internals_and_files_are_out_of_reach(source: str) -> None:
    with pytest.raises(FAILURES):
        run(source, items=[1])


@pytest.mark.parametrize(
    "source", ["{{ ''.__class__ }}", "{{ items['__class__'] }}", "{{ ''|attr('__class__') }}"]
)
def test_an_internal_attribute_is_nothing(source: str) -> None:
    assert run(source, items=[1]) == ""


@pytest.mark.parametrize("source", ["{{ [1, 2]|random }}", "{{ lipsum() }}"])
def test_nothing_random_is_in_reach(source: str) -> None:
    with pytest.raises(FAILURES):
        run(source)


@pytest.mark.parametrize(
    "source",
    [
        "{% for i in range(1000) %}{% for j in range(1000) %}{% endfor %}{% endfor %}",
        "{% macro f(n) %}{{ f(n - 1) if n }}{{ f(n - 1) if n }}{% endmacro %}{{ f(20) }}",
        "{% for i in range(1000) %}{% for j in range(1000) if false %}{% endfor %}{% endfor %}",
    ],
)
def test_endless_work_is_refused(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "MAX_STEPS", 20_000)
    with pytest.raises(FAILURES, match="more than 20,000 steps"):
        run(source)


def test_recursive_loops_are_refused() -> None:
    with pytest.raises(FAILURES, match="recursive loops"):
        run("{% for i in [1] recursive %}{{ loop([2]) }}{% endfor %}")


def test_a_template_that_calls_itself_without_end_is_refused() -> None:
    with pytest.raises(RecursionError):
        run("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}")


def test_a_huge_output_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "MAX_OUTPUT", 1000)
    assert len(run("{% for i in range(10) %}{{ 'x' * 100 }}{% endfor %}")) == 1000
    with pytest.raises(FAILURES, match="more than 1,000 characters"):
        run("{% for i in range(11) %}{{ 'x' * 100 }}{% endfor %}")


@pytest.mark.parametrize(
    "source",
    [
        "{{ 'x' * 10 ** 9 }}",
        "{{ 10 ** 9 * 'x' }}",
        "{{ [0] * 10 ** 9 }}",
        "{{ 10 ** 10 ** 10 }}",
        "{% set n = namespace(x=3) %}{% for i in range(99) %}{% set n.x = n.x * n.x %}{% endfor %}",
    ],
)
def test_huge_numbers_and_repetitions_are_refused(source: str) -> None:
    with pytest.raises(FAILURES, match="too large"):
        run(source)


def test_ordinary_arithmetic_is_allowed() -> None:
    assert run("{{ 2 * 3 }} {{ 1.5 * 2 }} {{ '-' * 3 }} {{ 3 * '-' }} {{ [0] * 2 }} {{ 2 ** 10 }}") == (
        "6 3.0 --- --- [0, 0] 1024"
    )


def test_counted_loops_know_their_length_and_neighbours() -> None:
    source = (
        "{% for x in xs %}{{ loop.index }}/{{ loop.length }}{{ x }}{{ ', ' if not loop.last }}{% endfor %}"
    )
    assert run(source, xs=["a", "b"]) == "1/2a, 2/2b"
    assert run("{% for x in xs %}{{ loop.nextitem }}{% else %}none{% endfor %}", xs=[]) == "none"
    assert run("{% for k, v in d.items() %}{{ k }}{{ v }}{% endfor %}", d={"a": 1}) == "a1"
    assert (
        run(
            "{% for x in xs if x is odd %}{{ x }}{% if x > 2 %}{% break %}{% endif %}{% endfor %}",
            xs=[1, 2, 3, 5],
        )
        == "13"
    )


def test_every_rendering_has_its_own_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "MAX_STEPS", 10)
    environment = Sandbox(lambda value: value)
    template = environment.from_string("{% for i in range(5) %}{{ i }}{% endfor %}")
    assert [environment.run(template, {}) for _ in range(3)] == ["01234"] * 3


def test_whitespace_is_as_serving_engines_treat_it() -> None:
    assert run("a\n  {% if true %}\n  b\n  {% endif %}\nc\n") == "a\n  b\nc"


def test_the_body_of_a_generation_block_is_kept() -> None:
    assert run("a{% generation %}b{% endgeneration %}c") == "abc"


@pytest.mark.parametrize(
    ("call", "written"),
    [
        ("tojson", '{"b": "<é>", "a": [1, null]}'),
        ("tojson(ensure_ascii=True)", '{"b": "<\\u00e9>", "a": [1, null]}'),
        ("tojson(ensure_ascii=False, sort_keys=True)", '{"a": [1, null], "b": "<é>"}'),
        ("tojson(separators=(',', ':'))", '{"b":"<é>","a":[1,null]}'),
        ("tojson(indent=1)", '{\n "b": "<é>",\n "a": [\n  1,\n  null\n ]\n}'),
    ],
)
def test_json_is_written_as_templates_expect_it(call: str, written: str) -> None:
    assert run(f"{{{{ x | {call} }}}}", x={"b": "<é>", "a": [1, None]}) == written


def test_json_is_read() -> None:
    assert run("{{ ('[1, 2]' | from_json)[1] }}") == "2"


def test_the_clock_stands_still() -> None:
    assert run("{{ strftime_now('%Y-%m-%d %H:%M') }}") == "2026-01-01 00:00"
