"""The machine a run is made on: what it is (`describe`) and cheap counters that move (`snapshot`).

Everything comes from the standard library, /proc and /sys, is optional, and is absent where a system does
not have it. No host name, user name, serial number or path is read into a result. Both functions take the
folder that stands for `/`, so that a test can lay out a Jetson.
"""

import os
import platform
import re
import time
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("edge-agentic", "llama-cpp-python", "numpy", "jinja2", "jsonschema", "httpx2")

_CPUS = "sys/devices/system/cpu"


def describe(root: Path = Path("/")) -> dict[str, Any]:
    """Return what the machine is: processor, memory, system, packages, power, heat, limits, accelerator."""
    return _present(
        {
            "machine": _first(root, "proc/device-tree/model", "sys/class/dmi/id/product_name"),
            "cpu": _cpu(root),
            "memory": _present(
                {"total_bytes": _kib(root, "MemTotal"), "swap_total_bytes": _kib(root, "SwapTotal")}
            ),
            "system": _system(root),
            "python": {
                "version": platform.python_version(),
                "implementation": platform.python_implementation(),
            },
            "packages": _packages(),
            "power": _power(root),
            "thermal_zones": _thermal_zones(root),
            "limits": _limits(root),
            "accelerator": _accelerator(root),
            "jetson": _jetson(root),
        }
    )


def snapshot(root: Path = Path("/"), *, model_path: Path | None = None) -> dict[str, Any]:
    """Return the counters that `edge_agentic.validity` compares before and after; a few milliseconds.

    Times are in seconds, memory in bytes; `model_path` adds size and change time of the model file.
    """
    return _present(
        {
            "wall_minus_monotonic_s": time.time_ns() / 1e9 - time.monotonic(),
            "suspended_s": _suspended_s(),
            "cpu": _cpu_times(root),
            "swapped_in_bytes": _swapped_in_bytes(root),
            "oom_kills": _counter(root, "proc/vmstat", "oom_kill"),
            "memory_available_bytes": _kib(root, "MemAvailable"),
            "throttle_events": _throttle_events(root),
            "cooling_active": _cooling_active(root),
            "power": _power(root),
            "cgroup_cpu": _cgroup_cpu(root),
            "model_file": _model_file(model_path),
        }
    )


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip("\0\n ") or None
    except OSError:
        return None


def _first(root: Path, *names: str) -> str | None:
    return next((text for name in names if (text := _read(root / name)) is not None), None)


def _number(path: Path) -> int | None:
    text = _read(path)
    return int(text) if text is not None and re.fullmatch(r"-?\d+", text) else None


def _glob(root: Path, pattern: str) -> list[Path]:
    try:
        return sorted(root.glob(pattern))
    except OSError:
        return []


def _present(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None and value not in ({}, [])}


def _fields(root: Path, name: str, separator: str | None = None) -> Iterator[tuple[str, str]]:
    """Yield the key and the rest of each line of a /proc-like table."""
    for line in (_read(root / name) or "").splitlines():
        key, *rest = line.split(separator, 1)
        if rest:
            yield key.strip(), rest[0].strip()


def _counter(root: Path, name: str, key: str) -> int | None:
    value = dict(_fields(root, name)).get(key)
    return int(value) if value is not None and value.isdigit() else None


def _kib(root: Path, key: str) -> int | None:
    value = dict(_fields(root, "proc/meminfo", ":")).get(key, "").split(" ")[0]
    return int(value) * 1024 if value.isdigit() else None


def _cpu(root: Path) -> dict[str, Any]:
    cpuinfo: dict[str, str] = {}
    cores = set()
    for key, value in _fields(root, "proc/cpuinfo", ":"):
        cpuinfo.setdefault(key, value)
    for topology in _glob(root, f"{_CPUS}/cpu[0-9]*/topology"):
        cores.add((_read(topology / "physical_package_id"), _read(topology / "core_id")))
    capacities = [_read(path) for path in _glob(root, f"{_CPUS}/cpu[0-9]*/cpu_capacity")]
    return _present(
        {
            "model": cpuinfo.get("model name") or cpuinfo.get("Model") or platform.processor() or None,
            "logical": os.cpu_count(),
            "physical": len(cores) or None,
            "sockets": len({package for package, _ in cores if package is not None}) or None,
            "usable": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
            "smt_active": _read(root / _CPUS / "smt/active"),
            "core_capacities": sorted({text for text in capacities if text}),
        }
    )


def _system(root: Path) -> dict[str, Any]:
    release = {key: value.strip('"') for key, value in _fields(root, "etc/os-release", "=")}
    return _present(
        {
            "os": release.get("PRETTY_NAME") or platform.system(),
            "kernel": platform.release(),
            "architecture": platform.machine(),
        }
    )


def _packages() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _power(root: Path) -> dict[str, Any]:
    """What decides how fast the processor may run, and where the power comes from."""
    governors = {_read(path) for path in _glob(root, f"{_CPUS}/cpufreq/policy*/scaling_governor")}
    drivers = {_read(path) for path in _glob(root, f"{_CPUS}/cpufreq/policy*/scaling_driver")}
    supplies = [(_read(folder / "type"), folder) for folder in _glob(root, "sys/class/power_supply/*")]
    mains = [_read(folder / "online") for kind, folder in supplies if kind in ("Mains", "USB")]
    batteries = [_read(folder / "status") for kind, folder in supplies if kind == "Battery"]
    return _present(
        {
            "governor": ", ".join(sorted(name for name in governors if name)) or None,
            "driver": ", ".join(sorted(name for name in drivers if name)) or None,
            "energy_preference": _first(root, f"{_CPUS}/cpufreq/policy0/energy_performance_preference"),
            "no_turbo": _read(root / _CPUS / "intel_pstate/no_turbo"),
            "boost": _read(root / _CPUS / "cpufreq/boost"),
            "platform_profile": _read(root / "sys/firmware/acpi/platform_profile"),
            "mains_online": ("1" in mains) if mains else None,
            "battery": ", ".join(sorted(status for status in batteries if status)) or None,
            "jetson_mode": _nvpmodel(root),
        }
    )


def _thermal_zones(root: Path) -> list[dict[str, Any]]:
    zones = []
    for folder in _glob(root, "sys/class/thermal/thermal_zone*"):
        kind, millidegrees = _read(folder / "type"), _number(folder / "temp")
        if kind is not None and millidegrees is not None:
            zones.append({"type": kind, "celsius": millidegrees / 1000})
    return zones


def _limits(root: Path) -> dict[str, Any]:
    return _present(
        {
            "cpu_quota": _first(root, "sys/fs/cgroup/cpu.max", "sys/fs/cgroup/cpu/cpu.cfs_quota_us"),
            "cpuset": _first(root, "sys/fs/cgroup/cpuset.cpus.effective", "sys/fs/cgroup/cpuset/cpuset.cpus"),
            "memory_max": _first(
                root, "sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes"
            ),
        }
    )


def _accelerator(root: Path) -> dict[str, Any]:
    driver = _read(root / "proc/driver/nvidia/version")
    models = [
        dict(_fields(root, str(path.relative_to(root)), ":")).get("Model")
        for path in _glob(root, "proc/driver/nvidia/gpus/*/information")
    ]
    return _present(
        {"nvidia_driver": driver.splitlines()[0] if driver else None, "nvidia_gpus": [m for m in models if m]}
    )


def _jetson(root: Path) -> dict[str, Any]:
    release = _read(root / "etc/nv_tegra_release")
    found = re.search(r"R(\d+).*?REVISION: ([\d.]+)", release or "")
    return _present({"l4t": f"{found[1]}.{found[2]}" if found else None, "nvpmodel": _nvpmodel(root)})


def _nvpmodel(root: Path) -> str | None:
    """The Jetson power mode: its number from the daemon's status, its name from the table of modes."""
    found = re.search(r"pmode:0*(\d+)", _read(root / "var/lib/nvpmodel/status") or "")
    if found is None:
        return None
    modes = _read(root / "etc/nvpmodel.conf") or ""
    name = re.search(rf"POWER_MODEL\s+ID={found[1]}\s+NAME=(\S+)", modes)
    return f"{found[1]} {name[1]}" if name else found[1]


def _suspended_s() -> float | None:
    """Time asleep since boot: a clock that runs through sleep minus one that does not."""
    for through, awake in (
        ("CLOCK_BOOTTIME", "CLOCK_MONOTONIC"),
        ("CLOCK_MONOTONIC_RAW", "CLOCK_UPTIME_RAW"),
    ):
        if hasattr(time, through) and hasattr(time, awake):
            return time.clock_gettime(getattr(time, through)) - time.clock_gettime(getattr(time, awake))
    return None


def _cpu_times(root: Path) -> dict[str, float] | None:
    """Seconds the processors were busy, could have been, and spent on this process and its descendants."""
    first = (_read(root / "proc/stat") or "").splitlines()[:1]
    ticks = [int(word) for word in first[0].split()[1:9]] if first else []
    if len(ticks) < 8:
        return None
    per_s = os.sysconf("SC_CLK_TCK")
    idle = ticks[3] + ticks[4]
    return {
        "busy_s": (sum(ticks) - idle) / per_s,
        "total_s": sum(ticks) / per_s,
        "own_s": _own_ticks(root, os.getpid()) / per_s,
    }


def _own_ticks(root: Path, pid: int) -> int:
    """Clock ticks of a process and its descendants, those already waited for included."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for path in _glob(root, "proc/[0-9]*/stat"):
        # The command name may hold spaces and brackets, so the fields are counted from the last bracket.
        words = (_read(path) or "").rpartition(")")[2].split()
        if len(words) > 14:
            parents[int(path.parent.name)] = int(words[1])
            ticks[int(path.parent.name)] = sum(int(word) for word in words[11:15])
    family = {pid}
    while grown := {child for child, parent in parents.items() if parent in family} - family:
        family |= grown
    return sum(ticks.get(member, 0) for member in family)


def _swapped_in_bytes(root: Path) -> int | None:
    pages = _counter(root, "proc/vmstat", "pswpin")
    return None if pages is None else pages * os.sysconf("SC_PAGE_SIZE")


def _throttle_events(root: Path) -> int | None:
    """Times the hardware slowed itself: x86 throttle counters and a Jetson's over-current alarms."""
    patterns = (f"{_CPUS}/cpu*/thermal_throttle/*_throttle_count", "sys/class/hwmon/hwmon*/oc*_event_cnt")
    counts = [count for p in patterns for path in _glob(root, p) if (count := _number(path)) is not None]
    return sum(counts) if counts else None


def _cooling_active(root: Path) -> list[str] | None:
    """Cooling devices that slow something down right now; fans and dimmed displays are no loss of speed."""
    folders = _glob(root, "sys/class/thermal/cooling_device*")
    active = [
        _read(folder / "type") or "unnamed" for folder in folders if (_number(folder / "cur_state") or 0) > 0
    ]
    return sorted(kind for kind in active if "fan" not in kind.lower() and kind != "LCD") or None


def _cgroup_cpu(root: Path) -> dict[str, int] | None:
    """Scheduling periods of the container's CPU quota, and those in which it ran out."""
    for name in ("sys/fs/cgroup/cpu.stat", "sys/fs/cgroup/cpu/cpu.stat"):
        periods, throttled = _counter(root, name, "nr_periods"), _counter(root, name, "nr_throttled")
        if periods is not None and throttled is not None:
            return {"periods": periods, "throttled": throttled}
    return None


def _model_file(path: Path | None) -> dict[str, int] | None:
    if path is None:
        return None
    try:
        status = path.stat()
    except OSError:
        return {"bytes": 0, "modified_ns": 0}
    return {"bytes": status.st_size, "modified_ns": status.st_mtime_ns}
