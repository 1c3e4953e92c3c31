"""What is read of a machine, on machines laid out as files."""

import getpass
import json
import os
import platform
from pathlib import Path
from typing import Any

from edge_agentic.environment import describe, snapshot


def lay_out(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def test_a_machine_that_tells_nothing_is_described_by_what_python_knows(tmp_path: Path) -> None:
    found = describe(tmp_path)
    assert {"memory", "power", "jetson", "accelerator", "thermal_zones", "limits"} & found.keys() == set()
    assert found["python"]["version"] == platform.python_version()


def test_a_jetson_is_known_by_its_files(tmp_path: Path) -> None:
    root = lay_out(
        tmp_path,
        {
            "proc/device-tree/model": "NVIDIA Jetson Orin Nano Developer Kit\0",
            "etc/nv_tegra_release": "# R36 (release), REVISION: 4.3, GCID: 1, BOARD: generic\n",
            "var/lib/nvpmodel/status": "pmode:0002\n",
            "etc/nvpmodel.conf": "< POWER_MODEL ID=0 NAME=15W >\n< POWER_MODEL ID=2 NAME=MAXN_SUPER >\n",
            "sys/class/thermal/thermal_zone0/type": "cpu-thermal\n",
            "sys/class/thermal/thermal_zone0/temp": "48500\n",
        },
    )
    found = describe(root)
    assert found["machine"] == "NVIDIA Jetson Orin Nano Developer Kit"
    assert found["jetson"] == {"l4t": "36.4.3", "nvpmodel": "2 MAXN_SUPER"}
    assert found["power"] == {"jetson_mode": "2 MAXN_SUPER"}
    assert found["thermal_zones"] == [{"type": "cpu-thermal", "celsius": 48.5}]


def test_a_laptop_is_known_by_its_files(tmp_path: Path) -> None:
    root = lay_out(
        tmp_path,
        {
            "proc/cpuinfo": "processor\t: 0\nmodel name\t: Example CPU\n\nprocessor\t: 1\nmodel name\t: Other\n",
            "proc/meminfo": "MemTotal:        2048 kB\nMemAvailable:    1024 kB\nSwapTotal:  0 kB\n",
            "etc/os-release": 'PRETTY_NAME="Example Linux 1"\nID=example\n',
            "sys/devices/system/cpu/cpu0/topology/physical_package_id": "0",
            "sys/devices/system/cpu/cpu0/topology/core_id": "0",
            "sys/devices/system/cpu/cpu1/topology/physical_package_id": "0",
            "sys/devices/system/cpu/cpu1/topology/core_id": "0",
            "sys/devices/system/cpu/cpufreq/policy0/scaling_governor": "powersave\n",
            "sys/devices/system/cpu/cpufreq/policy0/scaling_driver": "intel_pstate\n",
            "sys/devices/system/cpu/intel_pstate/no_turbo": "0\n",
            "sys/class/power_supply/AC/type": "Mains\n",
            "sys/class/power_supply/AC/online": "0\n",
            "sys/class/power_supply/BAT0/type": "Battery\n",
            "sys/class/power_supply/BAT0/status": "Discharging\n",
            "sys/fs/cgroup/cpu.max": "150000 100000\n",
            "proc/driver/nvidia/version": "NVRM version: 580.1\nGCC version: 13\n",
            "proc/driver/nvidia/gpus/0000:01:00.0/information": "Model: \t\t Example GPU\nIRQ:   42\n",
        },
    )
    found = describe(root)
    assert found["cpu"]["model"] == "Example CPU"
    assert (found["cpu"]["physical"], found["cpu"]["sockets"]) == (1, 1)
    assert found["memory"] == {"total_bytes": 2097152, "swap_total_bytes": 0}
    assert found["system"]["os"] == "Example Linux 1"
    assert found["power"] == {
        "governor": "powersave",
        "driver": "intel_pstate",
        "no_turbo": "0",
        "mains_online": False,
        "battery": "Discharging",
    }
    assert found["limits"] == {"cpu_quota": "150000 100000"}
    assert found["accelerator"] == {"nvidia_driver": "NVRM version: 580.1", "nvidia_gpus": ["Example GPU"]}


def test_counters_are_read_from_their_files(tmp_path: Path) -> None:
    model = tmp_path / "model.gguf"
    model.write_bytes(b"12345")
    root = lay_out(
        tmp_path / "root",
        {
            "proc/stat": "cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 1 1 1 1\n",
            "proc/vmstat": "pswpin 3\noom_kill 1\n",
            "proc/meminfo": "MemAvailable:    1024 kB\n",
            "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count": "2\n",
            "sys/class/hwmon/hwmon1/oc1_event_cnt": "5\n",
            "sys/class/thermal/cooling_device0/type": "pwm-fan\n",
            "sys/class/thermal/cooling_device0/cur_state": "3\n",
            "sys/class/thermal/cooling_device1/type": "cpu-throttle-alert\n",
            "sys/class/thermal/cooling_device1/cur_state": "1\n",
            "sys/class/thermal/cooling_device2/type": "LCD\n",
            "sys/class/thermal/cooling_device2/cur_state": "4\n",
            "sys/fs/cgroup/cpu.stat": "usage_usec 9\nnr_periods 10\nnr_throttled 4\n",
        },
    )
    found = snapshot(root, model_path=model)
    tick = os.sysconf("SC_CLK_TCK")
    assert found["cpu"] == {"busy_s": 200 / tick, "total_s": 1000 / tick, "own_s": 0.0}
    assert found["swapped_in_bytes"] == 3 * os.sysconf("SC_PAGE_SIZE")
    assert found["oom_kills"] == 1
    assert found["memory_available_bytes"] == 1048576
    assert found["throttle_events"] == 7
    assert found["cooling_active"] == ["cpu-throttle-alert"]
    assert found["cgroup_cpu"] == {"periods": 10, "throttled": 4}
    assert found["model_file"] == {"bytes": 5, "modified_ns": model.stat().st_mtime_ns}


def test_a_process_and_its_descendants_are_counted_and_nobody_else(tmp_path: Path) -> None:
    def stat(parent: int, name: str) -> str:
        return f"1 ({name}) S {parent} " + "0 " * 9 + "10 5 2 1 " + "0 " * 30

    own = os.getpid()
    root = lay_out(
        tmp_path,
        {
            "proc/stat": "cpu  100 0 0 0 0 0 0 0\n",
            f"proc/{own}/stat": stat(0, "python"),
            "proc/900001/stat": stat(own, "engine (llama) x"),
            "proc/900002/stat": stat(900001, "helper"),
            "proc/900003/stat": stat(1, "someone else"),
        },
    )
    assert snapshot(root)["cpu"]["own_s"] == 3 * 18 / os.sysconf("SC_CLK_TCK")


def test_a_model_file_that_is_gone_differs_from_every_file(tmp_path: Path) -> None:
    assert snapshot(tmp_path, model_path=tmp_path / "none.gguf")["model_file"] == {
        "bytes": 0,
        "modified_ns": 0,
    }


def test_odd_files_are_passed_over(tmp_path: Path) -> None:
    root = lay_out(
        tmp_path,
        {
            "proc/meminfo": "MemTotal: many kB\n\nnonsense",
            "proc/stat": "cpu 1 2\n",
            "proc/vmstat": "pswpin\noom_kill x\n",
            "proc/cpuinfo": ":\n::",
            "etc/nv_tegra_release": "hello",
            "var/lib/nvpmodel/status": "",
            "sys/class/thermal/thermal_zone0/temp": "hot",
        },
    )
    assert "memory" not in describe(root)
    found = snapshot(root)
    assert {"cpu", "swapped_in_bytes", "oom_kills", "memory_available_bytes"} & found.keys() == set()


def test_this_machine_can_be_described_without_naming_host_user_or_home() -> None:
    text = json.dumps([describe(), snapshot()])
    for name in (platform.node(), getpass.getuser(), str(Path.home())):
        assert not _holds_word(text, name)


def _holds_word(text: str, name: Any) -> bool:
    """A user called root or a host called cpu would be found in other words; long names are what matters."""
    return len(str(name)) > 5 and str(name) in text
