"""systems/<system>.json and measurements.json: the machine and the weights, as far as the run knows them.

Every field the checker requires is there; what the run does not know is "N/A", which the checker takes, and is listed
for the submitter. All values are texts: the checker takes a number 0 for an empty answer.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from bfcl_gate.ruleset import MLPERF_V6_1
from edge_agentic.mlperf_export.evidence import Evidence
from edge_agentic.report.words import clean, listing

UNKNOWN = "N/A"

STATUSES = ("available", "preview", "rdi")

SYSTEM_FIELDS = (
    "division",
    "submitter",
    "status",
    "system_name",
    "number_of_nodes",
    "host_processor_model_name",
    "host_processors_per_node",
    "host_processor_core_count",
    "host_memory_capacity",
    "host_storage_capacity",
    "host_storage_type",
    "accelerators_per_node",
    "accelerator_model_name",
    "accelerator_memory_capacity",
    "framework",
    "operating_system",
    "system_type",
    "other_software_stack",
    "host_processor_frequency",
    "host_processor_caches",
    "host_memory_configuration",
    "host_processor_interconnect",
    "host_networking",
    "host_networking_topology",
    "accelerator_frequency",
    "accelerator_host_interconnect",
    "accelerator_interconnect",
    "accelerator_interconnect_topology",
    "accelerator_memory_configuration",
    "accelerator_on-chip_memories",
    "cooling",
    "hw_notes",
    "sw_notes",
    "host_network_card_count",
    "system_type_detail",
)
"""The 35 keys of SYSTEM_DESC_REQUIRED_FIELDS in the checker's constants.py."""

_NO_ACCELERATOR = ("CPU", "BLAS", "ACCEL")
"""Devices of llama.cpp that are the host processor or a library on it."""


def system_json(
    evidence: Evidence, *, division: str, submitter: str, system: str, status: str, note: str
) -> dict[str, str]:
    """Return the description of the system; `note` stands before what the run tells of its software."""
    known = {
        "division": division,
        "submitter": submitter,
        "status": status,
        "system_name": system,
        "system_type": "edge",
        "framework": _text(evidence.result["engine"].get("build")),
        "sw_notes": "; ".join(part for part in (note, _settings(evidence)) if part),
        **(_machine(evidence.result["environment"]) if evidence.local else {}),
        **(_accelerator(evidence.result["engine"]) if evidence.local else {}),
    }
    return {field: known.get(field) or UNKNOWN for field in SYSTEM_FIELDS}


def measurements_json(evidence: Evidence) -> dict[str, str]:
    """Return the five fields on the weights; of another model than the reference's only its file's name is known."""
    model = evidence.result["model"]
    reference = model.get("sha256") == MLPERF_V6_1.model_sha256
    return {
        "input_data_types": "int32" if evidence.local else UNKNOWN,  # llama.cpp's token ids
        "retraining": "no" if reference else UNKNOWN,
        "starting_weights_filename": _text(model.get("file") or model.get("name")) or UNKNOWN,
        "weight_data_types": "GGUF Q4_K_M" if reference else UNKNOWN,
        "weight_transformations": "none: the published quantised file as it is" if reference else UNKNOWN,
    }


def unknown_fields(document: Mapping[str, str]) -> tuple[str, ...]:
    """Return the fields that the submitter has to fill; where no accelerator is, those on one stay as they are."""
    without = document.get("accelerators_per_node") == "0"
    unknown = (field for field, value in document.items() if value == UNKNOWN)
    return tuple(field for field in unknown if not (without and field.startswith("accelerator_")))


def _machine(environment: Mapping[str, Any]) -> dict[str, str | None]:
    cpu, memory, system = (_part(environment, name) for name in ("cpu", "memory", "system"))
    sockets, physical, total = map(
        _count, (cpu.get("sockets"), cpu.get("physical"), memory.get("total_bytes"))
    )
    return {
        "number_of_nodes": "1",
        "host_processor_model_name": _text(cpu.get("model")),
        "host_processors_per_node": None if sockets is None else str(sockets),
        "host_processor_core_count": f"{physical // sockets}" if sockets and physical else None,
        "host_memory_capacity": f"{total / 2**30:.1f} GiB" if total else None,
        "operating_system": " ".join(_texts(system.get("os"), system.get("kernel"))),
        "other_software_stack": listing(_part(environment, "packages")),
        "hw_notes": "; ".join(_hardware(environment)),
    }


def _hardware(environment: Mapping[str, Any]) -> Iterator[str]:
    """Yield what decides the speed of the machine beyond its parts: its board and its power mode."""
    yield from _texts(environment.get("machine"))
    for name in ("power", "jetson"):
        if told := listing(_part(environment, name)):
            yield f"{name}: {told}"


def _accelerator(engine: Mapping[str, Any]) -> dict[str, str | None]:
    """An accelerator counts where layers of the model were on it."""
    devices = engine.get("devices")
    listed = [str(device) for device in devices] if isinstance(devices, list) else []
    used = [device for device in listed if not device.startswith(_NO_ACCELERATOR)]
    if not engine.get("offloaded_layers"):
        return {"accelerators_per_node": "0"}
    names = dict.fromkeys(clean(device.partition(": ")[2] or device) for device in used)
    return {
        "accelerators_per_node": str(len(used)) if used else None,
        "accelerator_model_name": ", ".join(names),
    }


def _settings(evidence: Evidence) -> str:
    named = ("kv_type", "flash_attn", "n_ubatch", "threads", "gpu_layers", "reuse", "speculative", "ctx")
    return listing(evidence.result["engine"], named=named)


def _part(facts: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = facts.get(name)
    return value if isinstance(value, Mapping) else {}


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and value > 0 else None


def _texts(*values: object) -> list[str]:
    return [text for value in values if (text := _text(value)) is not None]


def _text(value: object) -> str | None:
    """Return a plain fact as a text on one line; None for what is none."""
    return clean(value) if isinstance(value, (str, int, float)) and value != "" else None
