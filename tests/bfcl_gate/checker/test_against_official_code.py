"""Fresh mutations, judged here and by the official code itself; a failure names the seed to repeat it with."""

import json
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from bfcl_upstream import Upstream
from mutations import mutated

from bfcl_gate.checker import java, javascript
from bfcl_gate.checker.unscorable import UnscorableError
from bfcl_gate.dataset import CATEGORIES, WITHOUT_ANSWERS, Entry, entry, entry_ids
from bfcl_gate.marks import judge

SEED = int(os.environ.get("BFCL_GATE_SEED", random.SystemRandom().randrange(2**32)))
CASES = int(os.environ.get("BFCL_GATE_CASES", "4000"))


@pytest.fixture
def chance() -> random.Random:
    print(f"BFCL_GATE_SEED={SEED}")  # noqa: T201 - shown with a failure
    return random.Random(SEED)


def cases(chance: random.Random) -> Iterator[tuple[Entry, dict[str, Any]]]:
    """Every subset is drawn equally often, so the small ones are tried hard."""
    for number in range(CASES):
        found = entry(chance.choice(entry_ids(list(CATEGORIES)[number % len(CATEGORIES)])))
        yield found, mutated(chance, found)


def test_official_rules_equal_the_official_code(upstream: Upstream, chance: random.Random) -> None:
    equal = Counter[str]()
    for found, message in cases(chance):
        valid, error = upstream.verdict(found.subset, found.functions, found.answers, message)
        mark = judge(found.id, message, rules="official")
        if valid is None:
            assert str(mark.error).startswith("gate_error:"), (SEED, found.id, message, error)
        else:
            assert (mark.correct, mark.error) == (valid, error), (SEED, found.id, message)
        equal["the official code raises" if valid is None else str(mark.error)] += 1
    tell("official", equal)


def test_mlperf_rules_equal_the_official_comparison_of_leniently_decoded_calls(
    upstream: Upstream, chance: random.Random
) -> None:
    equal = Counter[str]()
    for found, message in cases(chance):
        if not message.get("tool_calls") or found.subset in WITHOUT_ANSWERS:
            continue
        decoded = [leniently(call["function"]) for call in message["tool_calls"]]
        mark = judge(found.id, message)
        try:
            expected = upstream.ast_verdict(found.subset, found.functions, found.answers, decoded)
        except (OverflowError, TypeError, AttributeError):
            assert str(mark.error).startswith("gate_error:"), (SEED, found.id, message)
            equal["the official code raises"] += 1
        else:
            assert (mark.correct, mark.error) == expected, (SEED, found.id, message)
            equal[str(mark.error)] += 1
    tell("mlperf", equal)


def tell(rules: str, equal: Mapping[str, int]) -> None:
    """Say what was compared; `pytest -s` shows it."""
    kinds = ", ".join(f"{error} {count:,}" for error, count in sorted(equal.items()))
    print(f"{rules} rules: {sum(equal.values()):,} verdicts as expected ({kinds})")  # noqa: T201


def leniently(function: Mapping[str, str]) -> dict[str, Any]:
    """Decode arguments as MLPerf's extractor and then its scorer do."""
    arguments: Any = function["arguments"]
    for _ in range(2):
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments)
            except ValueError:
                arguments = {}
    return {function["name"]: arguments}


JAVA_TOKENS = (
    *("new ", "new\n", "ArrayList<", "ArrayList<>", "HashMap<", "HashMap<>", "<String, Object>", ">", "()"),
    *("(", ")", "{{", "}}", "{", "}", "Arrays.asList(", "add(", 'put("', 'put("k", ', '",', '"', "'", " "),
    *("\n", ",", "1", "-2", "1L", "1.5f", "2.5", "1e3", "true", "abc", ";", "String[]", "int[]{", "1_0", "١"),
    *("new ArrayList<>() {{", "new ArrayList<>(Arrays.asList(", "new HashMap<>() {{", "new HashMap<>()"),
)
JAVA_KINDS = (
    *(("Array", e) for e in ("String", "integer", "any", "long", "double", "boolean", "char", "float")),
    *(("ArrayList", e) for e in ("String", "integer", "any", "long", "char", "HashMap", "ArrayList")),
    *(
        (kind, None)
        for kind in ("HashMap", "HashMap", "integer", "long", "double", "float", "boolean", "any")
    ),
)
JAVASCRIPT_TOKENS = (
    *("[", "]", "[[", "]]", "{", "}", ":", ",", ", ", "'", '"', "1", "-2", "2.5", "1e3", "true", "abc", " "),
    *(
        "\n",
        "\t",
        "new Array(",
        "new ",
        "Array(",
        ")",
        "(",
        "5n",
        "nan",
        "k: ",
        "'a'",
        '"b"',
        "[1, 2]",
        "{a: 1}",
    ),
)
JAVASCRIPT_KINDS = (
    *(("array", e) for e in ("String", "integer", "float", "any", "dict", "array", "Boolean", "Bigint")),
    *((kind, None) for kind in ("dict", "dict", "dict", "String", "integer", "float", "Bigint", "Boolean")),
)


@pytest.mark.parametrize(
    ("language", "module", "reader", "tokens", "kinds"),
    [
        ("java", java, "java_type_converter", JAVA_TOKENS, JAVA_KINDS),
        ("javascript", javascript, "js_type_converter", JAVASCRIPT_TOKENS, JAVASCRIPT_KINDS),
    ],
)
def test_source_text_is_read_as_the_official_converters_read_it(
    upstream: Upstream,
    chance: random.Random,
    language: str,
    module: Any,
    reader: str,
    tokens: tuple[str, ...],
    kinds: tuple[tuple[str, str | None], ...],
) -> None:
    """Texts are short, because some official patterns take exponential time."""
    official = getattr(upstream.checker, reader)
    for _ in range(20_000):
        text = "".join(chance.choice(tokens) for _ in range(chance.randrange(1, 12)))
        kind, element = chance.choice(kinds)
        assert outcome(module.read, text, kind, element) == outcome(official, text, kind, element), (
            SEED,
            text,
        )


def outcome(read: Callable[..., Any], *arguments: Any) -> str:
    """Values are compared as they are written, so that 1, 1.0 and true differ and nan equals itself."""
    try:
        return repr(read(*arguments))
    except (ValueError, UnscorableError):
        return "raises"


def test_the_official_code_is_that_of_the_pinned_wheel(upstream: Upstream, bfcl: Path) -> None:
    assert str(bfcl) in str(upstream.checker.__file__)
