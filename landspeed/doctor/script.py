"""Make the script of ``landspeed doctor --fix-hints``, which root can read and run.

Kernel settings go where they survive a restart: sysctl.d(5), tmpfiles.d(5) for files in /sys,
limits.conf(5). What a script cannot fix becomes a comment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from landspeed.doctor.check import Check, State

_CPU = "/sys/devices/system/cpu"
_HEAD = """\
#!/bin/sh
# Fixes for what "landspeed doctor" found on this machine. Read them, delete those you do not
# want, then run the rest as root. They suit a machine that measures, not a desktop.
set -eu
"""


class SettingsPlace(StrEnum):
    """Directory of settings that are read at every start of the machine."""

    SYS = "/etc/tmpfiles.d"
    KERNEL = "/etc/sysctl.d"
    LIMITS = "/etc/security/limits.d"


_APPLY = {
    SettingsPlace.SYS: "systemd-tmpfiles --create {}",
    SettingsPlace.KERNEL: "sysctl --load={}",
    SettingsPlace.LIMITS: "# takes effect at the next login, or when the runner's service restarts",
}


@dataclass(frozen=True, kw_only=True)
class Fix:
    """Lines of a settings file that make a check succeed."""

    place: SettingsPlace
    lines: tuple[str, ...]


def _written(*files: tuple[str, str]) -> Fix:
    # systemd-tmpfiles ignores a file that does not exist.
    return Fix(place=SettingsPlace.SYS, lines=tuple(f"w {path} - - - - {v}" for path, v in files))


def _kernel(*lines: str) -> Fix:
    return Fix(place=SettingsPlace.KERNEL, lines=lines)


SETTINGS: Mapping[str, Fix] = {
    "CPU governor": _written((f"{_CPU}/cpu*/cpufreq/scaling_governor", "performance")),
    "turbo": _written((f"{_CPU}/intel_pstate/no_turbo", "1"), (f"{_CPU}/cpufreq/boost", "0")),
    "hyper-threads": _written((f"{_CPU}/smt/control", "off")),
    "transparent huge pages": _written(
        ("/sys/kernel/mm/transparent_hugepage/enabled", "madvise"),
    ),
    "swap": _kernel("vm.swappiness = 1"),
    "System V limits": _kernel("kernel.shmmax = 16000000000", "kernel.sem = 250 32000 100 128"),
    "hardware counters": _kernel("kernel.perf_event_paranoid = 2"),
    "process limits": Fix(
        place=SettingsPlace.LIMITS,
        lines=("* soft nofile 4096", "* hard nofile 65536", "* - nproc 4096"),
    ),
}
"""Fixes by the name of their check. Other checks need a person and become comments."""


def fix_hints(seen: Sequence[Check]) -> str:
    """Return the script that fixes those of *seen* that are not ok, as far as a script can."""
    due = [one for one in seen if one.state is not State.OK and one.remedy]
    # Comments first, then what the script fixes.
    due.sort(key=lambda one: one.name in SETTINGS)
    parts = [_part(one) for one in due] or [["# Nothing to fix."]]
    return "\n\n".join("\n".join(part) for part in ([_HEAD.rstrip()], *parts))


def _part(one: Check) -> list[str]:
    text = [f"# {one.name}: {one.value}", f"#   {one.meaning}"]
    setting = SETTINGS.get(one.name)
    if setting is None:
        return [*text, f"#   {one.remedy}"]
    # One file per check, so that a later script does not undo earlier fixes.
    path = f"{setting.place}/50-landspeed-{one.name.replace(' ', '-')}.conf"
    written = [f"cat >{path} <<'END'", *setting.lines, "END"]
    return [*text, *written, _APPLY[setting.place].format(path)]
