"""Rules about the machine: what its counters did between the start and the end of each session."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bfcl_gate.words import count
from edge_agentic.validity.check import INVALID, WARN, Check

Snapshot = Mapping[str, Any]
Pair = tuple[Snapshot, Snapshot]

SUSPENDED_S = 0.5
CLOCK_STEP_S = 0.05
SWAP_SHARE = 0.001  # of the model's bytes
FOREIGN_LOAD_SHARE = 0.10
CONTAINER_THROTTLED_SHARE = 0.01
LEAST_AVAILABLE_BYTES = 1 << 30

# In these modes of the driver "powersave" lets the hardware choose its clock, and it chooses well.
HARDWARE_GOVERNED = ("intel_pstate", "amd-pstate-epp", "amd_pstate_epp")
POWER_MODE = (
    "governor",
    "energy_preference",
    "no_turbo",
    "boost",
    "platform_profile",
    "mains_online",
    "jetson_mode",
)


def check_machine(
    manifest: Mapping[str, Any], snapshots: Sequence[Mapping[str, Any]], condition: str
) -> tuple[Check, ...]:
    """Apply the rules to the snapshots before and after each session that has both.

    Load, memory and swap are judged for the local engine only: an endpoint may be another machine.
    """
    pairs = [
        (pair["before"], pair["after"]) for pair in snapshots if pair.get("before") and pair.get("after")
    ]
    engine = manifest.get("engine", {})
    found = [
        offload(engine.get("gpu_layers"), engine.get("layers"), engine.get("offloaded_layers")),
        model_unchanged(pairs),
        suspend(pairs),
        clock_step(pairs),
        throttling(pairs, condition),
        governor(pairs, condition),
        power_unchanged(pairs),
        battery(pairs),
    ]
    if engine.get("kind") != "endpoint":
        found += [
            swap_in(pairs, manifest.get("model", {}).get("bytes")),
            memory(pairs),
            cpu_load(pairs, condition),
            container_cpu(pairs, condition),
        ]
    return tuple(check for check in found if check is not None)


def offload(asked: int | None, layers: int | None, offloaded: int | None) -> Check | None:
    """As many layers are on the GPU as were asked for (-1: all); llama.cpp counts the output layer as one."""
    if asked is None or layers is None or offloaded is None:
        return None
    expected = layers + 1 if asked < 0 else min(asked, layers + 1)
    detail = f"{offloaded} of {layers + 1} layers are on the GPU, {expected} were asked for."
    return Check("offload", INVALID, offloaded == expected, detail)


def model_unchanged(pairs: Sequence[Pair]) -> Check | None:
    """The model file has the same size and change time before and after."""
    known = [(b["model_file"], a["model_file"]) for b, a in pairs if "model_file" in b and "model_file" in a]
    if not known:
        return None
    same = all(before == after for before, after in known)
    detail = (
        "the model file is as it was."
        if same
        else "the model file was replaced or altered while it was in use."
    )
    return Check("model_unchanged", INVALID, same, detail)


def suspend(pairs: Sequence[Pair]) -> Check | None:
    """The machine did not sleep."""
    slept = _grown(pairs, "suspended_s")
    if slept is None:
        return None
    return Check(
        "suspend", INVALID, slept <= SUSPENDED_S, f"the machine slept {max(slept, 0.0):.1f} s during the run."
    )


def clock_step(pairs: Sequence[Pair]) -> Check | None:
    """The wall clock was not set: timings do not use it, but the logs of other tools would not match."""
    steps = [
        abs(a["wall_minus_monotonic_s"] - b["wall_minus_monotonic_s"] - (_delta(b, a, "suspended_s") or 0.0))
        for b, a in pairs
        if "wall_minus_monotonic_s" in b and "wall_minus_monotonic_s" in a
    ]
    if not steps:
        return None
    detail = f"the wall clock moved by {max(steps):.3f} s against the monotonic clock."
    return Check("clock_step", WARN, max(steps) <= CLOCK_STEP_S, detail)


def throttling(pairs: Sequence[Pair], condition: str) -> Check | None:
    """The hardware did not slow itself down for heat or current."""
    events = _grown(pairs, "throttle_events")
    cooling = sorted({name for _, after in pairs for name in after.get("cooling_active", [])})
    if events is None and not cooling:
        return None
    detail = f"{int(events or 0)} throttle events were counted"
    detail += f"; slowed at the end by {', '.join(cooling)}." if cooling else "."
    return Check("throttling", condition, not events and not cooling, detail)


def governor(pairs: Sequence[Pair], condition: str) -> Check | None:
    """The frequency governor does not hold the clock down."""
    modes = [before["power"] for before, _ in pairs if "governor" in before.get("power", {})]
    if not modes:
        return None
    slow = [
        mode
        for mode in modes
        if "powersave" in mode["governor"] and mode.get("driver") not in HARDWARE_GOVERNED
    ]
    return Check(
        "governor", condition, not slow, f"the frequency governor was {(slow or modes)[0]['governor']}."
    )


def power_unchanged(pairs: Sequence[Pair]) -> Check | None:
    """Power source and power mode stayed the same: otherwise two devices are averaged."""
    known = [(b["power"], a["power"]) for b, a in pairs if "power" in b and "power" in a]
    if not known:
        return None
    changed = [
        f"{key} {before.get(key)} -> {after.get(key)}"
        for before, after in known
        for key in POWER_MODE
        if before.get(key) != after.get(key)
    ]
    detail = (
        f"changed during the run: {'; '.join(changed)}."
        if changed
        else "power source and mode stayed the same."
    )
    return Check("power_unchanged", INVALID, not changed, detail)


def battery(pairs: Sequence[Pair]) -> Check | None:
    """The device ran on mains power."""
    powers = [
        snapshot["power"] for pair in pairs for snapshot in pair if "battery" in snapshot.get("power", {})
    ]
    if not powers:
        return None
    on_battery = any(
        "Discharging" in power["battery"] or power.get("mains_online") is False for power in powers
    )
    return Check("battery", WARN, not on_battery, "ran on battery." if on_battery else "ran on mains power.")


def swap_in(pairs: Sequence[Pair], model_bytes: int | None) -> Check | None:
    """Next to nothing was read back from swap: at most 0.1 % of the model's bytes."""
    read = _grown(pairs, "swapped_in_bytes")
    if read is None or not model_bytes:
        return None
    detail = f"{read / 1e6:.1f} MB were read back from swap during the run."
    return Check("swap_in", INVALID, read <= SWAP_SHARE * model_bytes, detail)


def memory(pairs: Sequence[Pair]) -> Check | None:
    """At least 1 GiB of memory stayed available and nothing was killed for lack of it."""
    left = [s["memory_available_bytes"] for pair in pairs for s in pair if "memory_available_bytes" in s]
    if not left:
        return None
    killed = int(_grown(pairs, "oom_kills") or 0)
    detail = f"{min(left) / 2**30:.1f} GiB of memory were available"
    detail += f"; {count(killed, 'process')} killed for lack of memory." if killed else "."
    return Check("memory", WARN, min(left) >= LEAST_AVAILABLE_BYTES and not killed, detail)


def cpu_load(pairs: Sequence[Pair], condition: str) -> Check | None:
    """Others used at most 10 % of the processors (time stolen by a hypervisor included)."""
    known = [(b["cpu"], a["cpu"]) for b, a in pairs if "cpu" in b and "cpu" in a]
    total, busy, own = (sum(a[key] - b[key] for b, a in known) for key in ("total_s", "busy_s", "own_s"))
    if total <= 0:
        return None
    foreign = max(busy - own, 0.0) / total
    detail = f"other programs used {foreign:.1%} of the processors."
    return Check("cpu_load", condition, foreign <= FOREIGN_LOAD_SHARE, detail)


def container_cpu(pairs: Sequence[Pair], condition: str) -> Check | None:
    """The container's CPU quota ran out in at most 1 % of its periods."""
    known = [(b["cgroup_cpu"], a["cgroup_cpu"]) for b, a in pairs if "cgroup_cpu" in b and "cgroup_cpu" in a]
    periods, throttled = (sum(a[key] - b[key] for b, a in known) for key in ("periods", "throttled"))
    if periods <= 0:
        return None
    detail = f"the container's CPU quota ran out in {throttled / periods:.1%} of its periods."
    return Check("container_cpu", condition, throttled <= CONTAINER_THROTTLED_SHARE * periods, detail)


def _delta(before: Snapshot, after: Snapshot, key: str) -> float | None:
    return after[key] - before[key] if key in before and key in after else None


def _grown(pairs: Iterable[Pair], key: str) -> float | None:
    """Return by how much a counter grew, summed over the sessions that recorded it."""
    deltas = [delta for before, after in pairs if (delta := _delta(before, after, key)) is not None]
    return sum(deltas) if deltas else None
