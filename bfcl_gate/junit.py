"""The checks of a gate as JUnit XML, for CI systems that show test results."""

from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

from bfcl_gate.gate_text import is_partial


def junit_xml(gate: Mapping[str, Any]) -> bytes:
    """Return one test suite with a case for each check; without a check, one skipped case."""
    checks = gate["checks"]
    failures = sum(not check["passed"] for check in checks)
    suite = ElementTree.Element(
        "testsuite",
        name="bfcl-gate",
        tests=str(max(1, len(checks))),
        failures=str(failures),
        skipped=str(int(not checks)),
    )
    properties = ElementTree.SubElement(suite, "properties")
    for name in (
        "overall_accuracy",
        "normalized_accuracy",
        "sample",
        "samples",
        "planned_samples",
        "rules",
        "tool_schemas",
        "calls",
        "reference",
    ):
        ElementTree.SubElement(properties, "property", name=name, value=_plain(str(gate[name])))
    partial = "yes" if is_partial(gate) else "no"
    ElementTree.SubElement(properties, "property", name="partial", value=partial)
    for check in checks:
        case = ElementTree.SubElement(suite, "testcase", classname="bfcl-gate", name=check["name"])
        if not check["passed"]:
            ElementTree.SubElement(case, "failure", message=_plain(check["detail"]))
    if not checks:
        case = ElementTree.SubElement(suite, "testcase", classname="bfcl-gate", name="line")
        ElementTree.SubElement(case, "skipped", message="no line was given, so nothing was judged")
    text: bytes = ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _plain(text: str) -> str:
    """Leave out what XML 1.0 cannot hold."""
    return "".join(
        c for c in text if c in "\n\t" or " " <= c < "\ud800" or "\ue000" <= c < "\ufffe" or c > "\uffff"
    )
