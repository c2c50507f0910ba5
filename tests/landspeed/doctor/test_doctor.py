"""The doctor, on trees of fake /proc and /sys files: a good machine, a bad one, one that hides."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
from collections import namedtuple
from pathlib import Path

import pytest

from base.paths import Paths
from landspeed.doctor import checks, system
from landspeed.doctor.check import Check, State
from landspeed.doctor.kernel import Kernel
from landspeed.doctor.script import SETTINGS, fix_hints

CPU = "sys/devices/system/cpu"
CLOCK = "sys/devices/system/clocksource/clocksource0/current_clocksource"
MOUNT = "29 1 8:1 / {point} rw,relatime shared:1 - {kind} /dev/sda1 rw"
LIMITS = """\
Limit                     Soft Limit           Hard Limit           Units
Max processes             {nproc:<20} {nproc:<20} processes
Max open files            {nofile:<20} 1048576              files
"""
Usage = namedtuple("Usage", "total used free")


def meminfo(*, available_gb: int, swap_gb: int) -> str:
    sizes = {"MemTotal": 64, "MemAvailable": available_gb, "SwapTotal": swap_gb}
    return "".join(f"{name}: {size}000000 kB\n" for name, size in sizes.items())


def cpuinfo(*, processors: int, flags: str) -> str:
    return "".join(f"processor\t: {n}\nflags\t\t: fpu {flags}\n\n" for n in range(processors))


GOOD = {
    "proc/cpuinfo": cpuinfo(processors=4, flags="tsc"),
    "proc/stat": "cpu  1000 0 500 90000 10 0 5 0 0 0\ncpu0 1 2 3\n",
    "proc/loadavg": "0.05 0.10 0.09 1/200 1234\n",
    "proc/meminfo": meminfo(available_gb=60, swap_gb=0),
    "proc/self/limits": LIMITS.format(nproc="unlimited", nofile="65536"),
    "proc/self/mountinfo": MOUNT.format(point="/", kind="xfs"),
    "proc/sys/kernel/shmmax": "18446744073692774399\n",
    "proc/sys/kernel/sem": "32000\t1024000000\t500\t32000\n",
    "proc/sys/kernel/randomize_va_space": "0\n",
    "proc/sys/kernel/perf_event_paranoid": "1\n",
    "proc/sys/vm/swappiness": "60\n",
    "sys/bus/event_source/devices/cpu/type": "4\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "sys/devices/system/node/node0/cpulist": "0-3\n",
    CLOCK: "tsc\n",
    f"{CPU}/cpu0/cpufreq/scaling_governor": "performance\n",
    f"{CPU}/cpu1/cpufreq/scaling_governor": "performance\n",
    f"{CPU}/intel_pstate/no_turbo": "1\n",
    f"{CPU}/smt/active": "0\n",
}
BAD = {
    "proc/cpuinfo": cpuinfo(processors=1, flags="tsc hypervisor"),
    "proc/stat": "cpu  1000 0 500 90000 10 0 5 9000 0 0\n",
    "proc/loadavg": "3.50 2.10 1.09 4/200 1234\n",
    "proc/meminfo": meminfo(available_gb=2, swap_gb=8),
    "proc/self/limits": LIMITS.format(nproc="512", nofile="256"),
    "proc/self/mountinfo": MOUNT.format(point="/", kind="tmpfs"),
    "proc/sys/kernel/shmmax": "33554432\n",
    "proc/sys/kernel/sem": "250\t32000\t32\t16\n",
    "proc/sys/kernel/randomize_va_space": "2\n",
    "proc/sys/vm/swappiness": "60\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n",
    "sys/devices/system/node/node0/cpulist": "0-3\n",
    "sys/devices/system/node/node1/cpulist": "4-7\n",
    CLOCK: "hpet\n",
    f"{CPU}/cpu0/cpufreq/scaling_governor": "powersave\n",
    f"{CPU}/cpufreq/boost": "1\n",
    f"{CPU}/smt/active": "1\n",
}


def tree(root: Path, files: dict[str, str]) -> Kernel:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Kernel(root)


def programs(directory: Path, *names: str) -> str:
    directory.mkdir()
    for name in names:
        path = directory / name
        path.write_text("")
        path.chmod(0o755)
    return str(directory)


def examine(
    tmp_path: Path, files: dict[str, str], *tools: str, cache: str = "/var/cache/landspeed"
) -> dict[str, Check]:
    seen = checks.checks(
        Paths(cache=Path(cache), project=tmp_path),
        kernel=tree(tmp_path / "root", files),
        search=programs(tmp_path / "bin", *tools),
    )
    assert len({one.name for one in seen}) == len(seen)
    return {one.name: one for one in seen}


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Bytes free on every disk, to be changed by a test."""
    amount = [500 * system.GB]
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**12, 0, amount[0]))
    monkeypatch.delenv("LANDSPEED_DATA", raising=False)
    return amount


@pytest.fixture
def user(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The users root finds on this machine, to be changed by a test."""
    names = ["landspeed", "nobody"]

    def getpwnam(name: str) -> pwd.struct_passwd:
        if name not in names:
            raise KeyError(name)
        return pwd.struct_passwd((name, "x", 65534, 65534, "", "/", "/bin/false"))

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(pwd, "getpwnam", getpwnam)
    monkeypatch.delenv("LANDSPEED_SERVER_USER", raising=False)
    return names


def test_a_quiet_well_kept_machine_is_ok_in_every_check(tmp_path, free, user):
    seen = examine(tmp_path, GOOD, *system.TOOLCHAIN)
    assert {name: one.value for name, one in seen.items() if one.state is not State.OK} == {}
    assert seen["memory"].value == "61.4 of 65.5 GB available"
    assert seen["steal time"].value == "0.00% since boot"
    assert checks.exit_code(list(seen.values())) == 0


def test_a_neglected_machine_is_told_what_each_thing_means_and_how_to_fix_it(tmp_path, free, user):
    free[0] = 5 * system.GB
    user.remove("landspeed")
    seen = examine(tmp_path, BAD, *system.TOOLCHAIN)
    notes = {
        "hyper-threads",
        "NUMA nodes",
        "hypervisor",
        "address randomisation",
        "hardware counters",
    }
    assert {name for name, one in seen.items() if one.state is State.NOTE} == notes
    assert {name for name, one in seen.items() if one.state is State.OK} == {"toolchain"}
    assert {name for name, one in seen.items() if one.state is State.FAIL} == set()
    assert all(one.meaning for one in seen.values() if one.state is not State.OK)
    assert all(one.remedy for one in seen.values() if one.state is State.WARN)
    assert seen["steal time"].value == "8.95% since boot"
    assert seen["turbo"].remedy.startswith("echo 0 ")
    assert seen["process limits"].value == "nofile 256, nproc 512"
    assert checks.exit_code(list(seen.values())) == 0


def test_a_kernel_that_shows_nothing_gives_notes_and_no_error(tmp_path, free, user):
    seen = examine(tmp_path, {}, *system.TOOLCHAIN)
    assert {one.state for one in seen.values()} <= {State.OK, State.NOTE, State.WARN}
    assert seen["memory"].value == seen["clock source"].value == "not shown"
    assert seen["data file system"].value == "unknown"


def test_too_little_disk_or_memory_and_a_missing_toolchain_fail(tmp_path, free, user):
    free[0] = system.GB
    little = GOOD | {"proc/meminfo": meminfo(available_gb=0, swap_gb=0)}
    seen = examine(tmp_path, little, "gcc", "ld", "make", "perl", "git")
    failed = {name for name, one in seen.items() if one.state is State.FAIL}
    assert failed == {
        "memory",
        "disk for sources and builds",
        "disk for data directories",
        "toolchain",
    }
    assert seen["toolchain"].value == "no bison, flex, ccache"
    assert checks.exit_code(list(seen.values())) == 1


@pytest.mark.parametrize(
    "limit",
    [
        {"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "2000000000\n"},
        {
            "proc/self/cgroup": "4:memory:/\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "2000000000\n",
        },
    ],
    ids=["v2", "v1"],
)
def test_the_memory_limit_of_a_control_group_counts(tmp_path, free, user, limit):
    seen = examine(tmp_path, GOOD | limit, *system.TOOLCHAIN)["memory"]
    assert (seen.state, seen.value) == (State.WARN, "2.0 of 2.0 GB available")


@pytest.mark.parametrize(
    "files",
    [
        {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"},
        {
            "proc/self/cgroup": "4:memory:/\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        },
        {"sys/fs/cgroup/cpu.max": "max 100000\n"},
        {
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
        },
    ],
    ids=["memory v2", "memory v1", "cpu v2", "cpu v1"],
)
def test_a_control_group_without_a_limit_is_no_limit(tmp_path, free, user, files):
    seen = examine(tmp_path, GOOD | files, *system.TOOLCHAIN)
    assert seen["memory"].value == "61.4 of 65.5 GB available"
    assert seen["processors"].value == "4"


def test_a_share_of_processor_time_is_not_as_good_as_whole_processors(tmp_path, free, user):
    seen = examine(tmp_path, GOOD | {"sys/fs/cgroup/cpu.max": "150000 100000"}, *system.TOOLCHAIN)
    assert seen["processors"].value == "4, 1.5 granted"
    assert seen["processors"].state is State.WARN


def test_the_file_system_is_that_of_the_nearest_mount_above_the_data(
    tmp_path, free, user, monkeypatch
):
    monkeypatch.setenv("LANDSPEED_DATA", "/var/cache/landspeed/data")
    mounts = [("/", "ext4"), ("/var", "ext4"), ("/var", "btrfs"), ("/var/cachet", "tmpfs")]
    text = "\n".join(MOUNT.format(point=point, kind=kind) for point, kind in mounts)
    seen = examine(tmp_path, GOOD | {"proc/self/mountinfo": text}, *system.TOOLCHAIN)
    assert seen["data file system"].value == "btrfs"


def test_root_without_any_unprivileged_user_fails(tmp_path, free, user):
    user.clear()
    seen = examine(tmp_path, GOOD, *system.TOOLCHAIN)["server user"]
    assert seen.state is State.FAIL
    assert "useradd" in seen.remedy


def test_a_plain_user_runs_the_servers_as_themselves(tmp_path, free, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    seen = examine(tmp_path, GOOD, *system.TOOLCHAIN)
    assert seen["server user"].value == "you"
    assert seen["hardware counters"].state is State.OK


def test_counters_only_root_may_read_are_a_note_for_others(tmp_path, free, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    seen = examine(tmp_path, GOOD | {"proc/sys/kernel/perf_event_paranoid": "3"}, *system.TOOLCHAIN)
    assert seen["hardware counters"].state is State.NOTE


def test_the_text_has_a_line_for_each_check_and_advice_only_where_it_is_needed():
    text = checks.render(
        [
            Check(name="swap", state=State.OK, value="none"),
            Check(
                name="clock source",
                state=State.WARN,
                value="hpet",
                meaning="Reading this clock is slow.",
                remedy="Boot with another.",
            ),
        ]
    )
    assert text == (
        "ok    swap          none\n"
        "warn  clock source  hpet\n"
        "      Reading this clock is slow.\n"
        "      fix: Boot with another.\n"
        "\n"
        "1 ok, 0 note, 1 warn, 0 fail"
    )


def test_the_facts_of_a_check_are_json():
    seen = Check(name="swap", state=State.OK, value="none")
    assert json.loads(json.dumps(seen.facts())) == {
        "name": "swap",
        "state": "ok",
        "value": "none",
        "meaning": "",
        "remedy": "",
    }


def test_the_machine_this_runs_on_can_be_examined(tmp_path):
    seen = checks.checks(Paths(cache=tmp_path, project=tmp_path))
    assert checks.render(seen).splitlines()[-1].endswith("fail")


def script_of(tmp_path, files) -> str:
    return fix_hints(list(examine(tmp_path, files, *system.TOOLCHAIN).values()))


def test_fix_hints_are_a_sound_script_that_keeps_settings_where_they_outlive_a_restart(
    tmp_path, free
):
    script = script_of(tmp_path, BAD)
    for line in (
        f"w /{CPU}/cpu*/cpufreq/scaling_governor - - - - performance",
        "w /sys/kernel/mm/transparent_hugepage/enabled - - - - madvise",
        "vm.swappiness = 1",
        "kernel.shmmax = 16000000000",
        "* soft nofile 4096",
        "sysctl --load=/etc/sysctl.d/50-landspeed-swap.conf",
        "#   Find it with top, and wait until it has finished.",
    ):
        assert f"\n{line}\n" in f"{script}\n"
    checkers = [["sh", "-n"], *([["shellcheck", "-"]] if shutil.which("shellcheck") else [])]
    for checker in checkers:
        done = subprocess.run(checker, input=script, text=True, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_machine_that_is_fit_has_nothing_to_fix(tmp_path, free):
    assert "Nothing to fix" in script_of(tmp_path, GOOD)


def test_every_setting_of_the_fix_hints_is_of_a_check(tmp_path, free):
    assert set(SETTINGS) <= set(examine(tmp_path, BAD, *system.TOOLCHAIN))
