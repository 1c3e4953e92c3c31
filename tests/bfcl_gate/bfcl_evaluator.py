"""The official evaluator's own path from a result folder to verdicts, and from a server's answer to a result row."""

import ast
import json
import os
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Union, final

from bfcl_upstream import MODEL, Upstream, _functions, _module

_RUNNER = "eval_checker/eval_runner.py"
_HANDLER = "model_handler/api_inference/openai_completion.py"
_UTILS = (
    *("sort_key", "extract_test_category_from_id", "get_directory_structure_by_id", "get_general_grouping"),
    *("make_json_serializable", "is_function_calling_format_output", "is_empty_output", "is_java", "is_js"),
    *("is_live", "is_non_live", "is_multi_turn", "is_agentic", "is_memory", "is_memory_prereq"),
    *("is_web_search", "is_format_sensitivity", "contain_multi_turn_interaction"),
)


class Evaluator:
    """bfcl-eval's runner of the single-turn categories and its OpenAI function-calling handler."""

    def __init__(self, upstream: Upstream, wheel: Path) -> None:
        self._wheel = wheel
        enums = _module("bfcl_eval.constants.enums")
        names: dict[str, Any] = {
            **vars(_module("bfcl_eval.constants.category_mapping")),
            "Any": Any,
            "BaseHandler": object,
            "Language": enums.Language,
            "Path": Path,
            "ReturnFormat": enums.ReturnFormat,
            "Union": Union,
            "ast_checker": upstream.checker.ast_checker,
            "final": final,
            "json": json,
            "os": os,
            "re": re,
            "save_eval_results": self._keep,
        }
        self._utils = _functions(wheel, "utils.py", _UTILS, names)
        wanted = (
            *(
                "_subset_entries_by_model_ids",
                "_evaluate_single_relevance_entry",
                "_evaluate_single_ast_entry",
            ),
            *("relevance_file_runner", "ast_file_runner"),
        )
        self._runner = _functions(wheel, _RUNNER, wanted, {**names, **self._utils})
        handler = _methods(wheel, _HANDLER, ("decode_ast", "_parse_query_response_FC"), names)
        writer = _methods(wheel, "model_handler/base_handler.py", ("write",), {**names, **self._utils})
        self.handler = type(
            "Handler", (), {**handler, **writer, "is_fc_model": True, "registry_dir_name": MODEL}
        )()

    def _keep(self, failed: list[Any], correct: int, results: list[Any], *_: object) -> tuple[float, int]:
        self._failed = failed
        assert correct + len(failed) == len(results)
        return correct / len(results), len(results)

    def evaluate(self, folder: Path, model_name: str = MODEL) -> dict[str, tuple[bool, str | None]]:
        """Return id -> (valid, error type) of every answer it finds in a result folder, as its runner does."""
        found: dict[str, tuple[bool, str | None]] = {}
        (home,) = (entry for entry in folder.iterdir() if entry.is_dir() and entry.name == model_name)
        for file in home.rglob("BFCL_v4_*_result.json"):
            lines = file.read_text(encoding="utf-8").removesuffix("\n").split("\n")
            rows = sorted(map(json.loads, lines), key=self._utils["sort_key"])
            self._evaluate(file.name[len("BFCL_v4_") : -len("_result.json")], rows)
            failed = {row["id"]: row["error_type"] for row in self._failed}
            found |= {row["id"]: (row["id"] not in failed, failed.get(row["id"])) for row in rows}
        return found

    def _evaluate(self, category: str, rows: list[dict[str, Any]]) -> None:
        prompts, subset_of = (
            self._data(f"BFCL_v4_{category}.json"),
            self._runner["_subset_entries_by_model_ids"],
        )
        if "relevance" in category:
            prompts, _ = subset_of(rows, prompts, None, allow_missing=True)
            self._runner["relevance_file_runner"](self.handler, rows, prompts, MODEL, category, None)
            return
        answers = self._data(f"possible_answer/BFCL_v4_{category}.json")
        prompts, answers = subset_of(rows, prompts, answers, allow_missing=True)
        self._runner["ast_file_runner"](self.handler, rows, prompts, answers, category, MODEL, None)

    def _data(self, name: str) -> list[dict[str, Any]]:
        text = zipfile.Path(self._wheel, f"bfcl_eval/data/{name}").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.split("\n") if line.strip()]

    def store(self, folder: Path, sample_id: str, message: Mapping[str, Any]) -> None:
        """Store what a server answered, as its generation does: parsed by the handler, appended to a file."""
        calls = message.get("tool_calls")
        said = SimpleNamespace(
            content=message.get("content"),
            tool_calls=calls
            and [SimpleNamespace(id="c", function=SimpleNamespace(**c["function"])) for c in calls],
        )
        response = SimpleNamespace(
            choices=[SimpleNamespace(message=said)],
            usage=SimpleNamespace(prompt_tokens=7, completion_tokens=3),
        )
        parsed = self.handler._parse_query_response_FC(response)
        counts = {"input_token_count": parsed["input_token"], "output_token_count": parsed["output_token"]}
        self.handler.write(
            {"id": sample_id, "result": parsed["model_responses"], **counts, "latency": 0.5},
            result_dir=folder,
        )


def _methods(wheel: Path, name: str, wanted: tuple[str, ...], names: Mapping[str, Any]) -> dict[str, Any]:
    """Compile only the wanted methods of the one class in a file."""
    tree = ast.parse(zipfile.Path(wheel, f"bfcl_eval/{name}").read_text(encoding="utf-8"))
    (owner,) = (node for node in tree.body if isinstance(node, ast.ClassDef))
    tree.body = [node for node in owner.body if isinstance(node, ast.FunctionDef) and node.name in wanted]
    namespace = dict(names)
    exec(compile(tree, name, "exec"), namespace)
    return {method: namespace[method] for method in wanted}
