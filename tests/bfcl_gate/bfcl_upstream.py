"""The official BFCL code itself, run out of the pinned wheel for comparison; its dependencies are not needed.

Only tests do this. What pulls in heavy packages is replaced: the model registry by the one flag the checker
reads of it, and of modules that import more than they use only the wanted functions are compiled.
"""

import ast
import copy
import json
import re
import sys
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

MODEL = "gpt-4o-2024-11-20-FC"
LANGUAGES = {"simple_java": "JAVA", "simple_javascript": "JAVASCRIPT"}


class Upstream:
    """The official checker, tool conversion and pre-processing of one wheel."""

    def __init__(self, wheel: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.checker = _import_checker(wheel)
            self._utils = _functions(
                wheel,
                "utils.py",
                (
                    *("is_java", "is_js", "is_function_calling_format_output", "is_empty_output"),
                    *("_get_language_specific_hint", "_func_doc_language_specific_pre_processing"),
                ),
                {"json": json},
            )
            self._tools = _functions(
                wheel,
                "model_handler/utils.py",
                ("_cast_to_openai_type", "convert_to_tool"),
                {
                    "copy": copy,
                    "json": json,
                    "re": re,
                    "GORILLA_TO_OPENAPI": _module("bfcl_eval.constants.type_mappings").GORILLA_TO_OPENAPI,
                    "ModelStyle": _module("bfcl_eval.constants.enums").ModelStyle,
                },
            )

    def tools(self, functions: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the tools its OpenAI handler sends for raw function documents."""
        style = self._tools["ModelStyle"].OPENAI_COMPLETIONS
        converted: list[dict[str, Any]] = self._tools["convert_to_tool"](
            list(functions), self._tools["GORILLA_TO_OPENAPI"], style
        )
        return converted

    def official_tools(self, subset: str, functions: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the tools its own runner sends for an entry."""
        hinted = self._utils["_func_doc_language_specific_pre_processing"](
            copy.deepcopy(list(functions)), subset
        )
        return self.tools(hinted)

    def verdict(
        self, subset: str, functions: Sequence[Any], answers: Sequence[Any], message: Mapping[str, Any]
    ) -> tuple[bool | None, str | None]:
        """Return (valid, error type) of a message; valid is None where the official code raises."""
        try:
            decoded = _decode(message)
        except (ValueError, TypeError, AttributeError):
            return self._without_calls(subset)
        if "relevance" in subset:
            called = not self._utils["is_empty_output"](decoded)
            return self._presence(subset, called)
        if not self._utils["is_function_calling_format_output"](decoded):
            return False, "ast_decoder:decoder_wrong_output_format"
        try:
            return self.ast_verdict(subset, functions, answers, decoded)
        except (OverflowError, TypeError, AttributeError, KeyError, ValueError) as error:
            return None, type(error).__name__

    def ast_verdict(
        self, subset: str, functions: Sequence[Any], answers: Sequence[Any], decoded: list[Any]
    ) -> tuple[bool, str | None]:
        """Return (valid, error type) of decoded calls; raises what the official code raises."""
        language = _module("bfcl_eval.constants.enums").Language[LANGUAGES.get(subset, "PYTHON")]
        found = self.checker.ast_checker(list(functions), decoded, list(answers), language, subset, MODEL)
        return found["valid"], None if found["valid"] else found["error_type"]

    def _without_calls(self, subset: str) -> tuple[bool, str | None]:
        if "relevance" in subset:
            return self._presence(subset, False)
        return False, "ast_decoder:decoder_failed"

    def _presence(self, subset: str, called: bool) -> tuple[bool, str | None]:
        if "irrelevance" in subset:
            return not called, "irrelevance_error:decoder_success" if called else None
        return called, None if called else "relevance_error:decoder_failed"


def _decode(message: Mapping[str, Any]) -> list[Any]:
    """Decode as the official function-calling handler does: its result, then one JSON text a call."""
    result = message.get("content")
    if isinstance(message.get("tool_calls"), list):
        result = [{call["function"]["name"]: call["function"]["arguments"]} for call in message["tool_calls"]]
    return [{name: json.loads(call[name])} for call in result for name in [next(iter(call.keys()))]]


def _import_checker(wheel: Path) -> ModuleType:
    registry = ModuleType("bfcl_eval.constants.model_config")
    registry.MODEL_CONFIG_MAPPING = {MODEL: SimpleNamespace(underscore_to_dot=True)}  # type: ignore[attr-defined]
    sys.modules[registry.__name__] = registry
    sys.path.insert(0, str(wheel))
    try:
        return _module("bfcl_eval.eval_checker.ast_eval.ast_checker")
    finally:
        sys.path.remove(str(wheel))


def _module(name: str) -> ModuleType:
    __import__(name)
    return sys.modules[name]


def _functions(wheel: Path, name: str, wanted: Sequence[str], names: Mapping[str, Any]) -> dict[str, Any]:
    """Compile only the wanted functions of a file, with the given names in place of its imports."""
    source = zipfile.Path(wheel, f"bfcl_eval/{name}").read_text(encoding="utf-8")
    tree = ast.parse(source)
    tree.body = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in wanted]
    namespace = dict(names)
    exec(compile(tree, name, "exec"), namespace)
    return namespace
