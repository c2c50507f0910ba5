"""What landspeed says of a machine, from made-up /proc and /sys trees."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from base.errors import UsageError
from benchmarks.machine.machine import Epoch, Limits, Machine, cpu_model, memory_bytes

GIB = 1 << 30
CPUINFO = """\
processor	: 0
model name	: Example 3000 @ 3.00GHz
microcode	: 0x2b000603

processor	: 1
model name	: Another
"""


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def machine(root: Path, cgroup: str, files: dict[str, str]) -> int:
    meminfo = f"MemTotal:       {16 * GIB // 1024} kB\nMemFree: 1 kB\n"
    return memory_bytes(tree(root, {"proc/meminfo": meminfo, "proc/self/cgroup": cgroup, **files}))


def test_without_control_groups_the_memory_is_the_machines(tmp_path: Path) -> None:
    assert machine(tmp_path, "", {}) == 16 * GIB


def test_a_cgroup_v2_limit_counts(tmp_path: Path) -> None:
    files = {"sys/fs/cgroup/user/job/memory.max": str(4 * GIB)}
    assert machine(tmp_path, "0::/user/job\n", files) == 4 * GIB


def test_a_limit_of_a_group_above_counts(tmp_path: Path) -> None:
    files = {
        "sys/fs/cgroup/user/job/memory.max": "max\n",
        "sys/fs/cgroup/user/memory.max": str(2 * GIB),
    }
    assert machine(tmp_path, "0::/user/job\n", files) == 2 * GIB


def test_a_cgroup_v1_limit_counts(tmp_path: Path) -> None:
    files = {"sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": str(3 * GIB)}
    assert machine(tmp_path, "4:cpu:/x\n3:memory,hugetlb:/docker/abc\n0::/\n", files) == 3 * GIB


def test_in_a_container_the_limit_at_the_mount_counts_though_the_path_is_the_hosts(
    tmp_path: Path,
) -> None:
    files = {"sys/fs/cgroup/memory/memory.limit_in_bytes": str(1 * GIB)}
    assert machine(tmp_path, "3:memory:/docker/abc\n", files) == 1 * GIB


def test_the_number_cgroup_v1_shows_for_no_limit_is_no_limit(tmp_path: Path) -> None:
    files = {"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}
    assert machine(tmp_path, "3:memory:/\n", files) == 16 * GIB


def test_a_limit_above_the_machines_memory_does_not_count(tmp_path: Path) -> None:
    files = {"sys/fs/cgroup/memory.max": str(64 * GIB)}
    assert machine(tmp_path, "0::/\n", files) == 16 * GIB


def test_the_processor_is_the_first_ones_model_name(tmp_path: Path) -> None:
    assert cpu_model(tree(tmp_path, {"proc/cpuinfo": CPUINFO})) == "Example 3000 @ 3.00GHz"


def test_a_processor_without_a_model_name_is_called_by_its_architecture(tmp_path: Path) -> None:
    assert cpu_model(tree(tmp_path, {"proc/cpuinfo": "processor : 0\n"})) != ""


def test_the_epoch_has_the_microcode(tmp_path: Path) -> None:
    epoch = Epoch.detect(tree(tmp_path, {"proc/cpuinfo": CPUINFO}))
    assert epoch.microcode == "0x2b000603"
    assert epoch.facts()["cpu"] == "Example 3000 @ 3.00GHz"


@pytest.mark.parametrize("part", ["kernel", "cpu", "microcode", "libc"])
def test_a_new_part_begins_a_new_epoch(part: str) -> None:
    epoch = Epoch(kernel="6.1", cpu="x", microcode="0x1", libc="glibc 2.36")
    assert replace(epoch, **{part: "new"}).identifier != epoch.identifier
    assert replace(epoch).identifier == epoch.identifier


def test_a_machine_is_called_as_told_or_as_the_environment_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LANDSPEED_MACHINE", "from-environment")
    assert Machine.detect().name == "from-environment"
    assert Machine.detect("told").name == "told"
    monkeypatch.delenv("LANDSPEED_MACHINE")
    assert Machine.detect().name != ""


@pytest.mark.parametrize(
    "name", ["bench 1", "-bench", "../up", "b" * 101, "bench\n", "benchmarks.json"]
)
def test_a_name_that_no_record_can_have_is_refused_before_anything_is_measured(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANDSPEED_MACHINE", name)
    with pytest.raises(UsageError, match="cannot be the name of a machine"):
        Machine.detect()


def test_the_record_has_the_machine_without_its_epoch() -> None:
    facts = Machine.detect("m").facts()
    assert set(facts) == {"name", "cpu", "cores", "memory_bytes", "os", "arch"}
    assert facts["cores"] >= 1


def test_what_old_templates_take_counts_as_free(tmp_path: Path) -> None:
    here = Machine.detect("m")
    empty = Limits.detect(here, tmp_path / "not" / "there").disk_bytes
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "big").write_bytes(b"x" * (64 << 20))
    full = Limits.detect(here, tmp_path / "data").disk_bytes
    assert abs(full - empty) < 16 << 30
    assert full > 64 << 20
