"""``landspeed doctor --fix-hints``: what the Checks found, as a script for root to read and to run.

Settings of the kernel go where they outlive a restart: sysctl.d(5), tmpfiles.d(5) for what only
/sys has, limits.conf(5). What no script can mend is a comment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from landspeed.doctor.check import Check, State

_CPU = "/sys/devices/system/cpu"
_HEAD = """\
#!/bin/sh
# What "landspeed doctor" saw on this machine and would mend. Read it, strike out what you do not
# want, then run the rest as root. A measuring machine is better for it, a desktop is not.
set -eu
"""


class SettingsPlace(StrEnum):
    """A SettingsPlace is where settings are kept that are read whenever the machine starts."""

    SYS = "/etc/tmpfiles.d"
    KERNEL = "/etc/sysctl.d"
    LIMITS = "/etc/security/limits.d"


_APPLY = {
    SettingsPlace.SYS: "systemd-tmpfiles --create {}",
    SettingsPlace.KERNEL: "sysctl --load={}",
    SettingsPlace.LIMITS: "# this holds from the next login, or start of the runner's service, on",
}


@dataclass(frozen=True, kw_only=True)
class FixScript:
    """A Mending is what makes a Check come out well: lines in a SettingsPlace."""

    place: SettingsPlace
    lines: tuple[str, ...]


def _written(*files: tuple[str, str]) -> FixScript:
    # what tmpfiles.d is to write into a file that is not there is left out by it
    return FixScript(
        place=SettingsPlace.SYS, lines=tuple(f"w {path} - - - - {v}" for path, v in files)
    )


def _kernel(*lines: str) -> FixScript:
    return FixScript(place=SettingsPlace.KERNEL, lines=lines)


SETTINGS: Mapping[str, FixScript] = {
    "CPU governor": _written((f"{_CPU}/cpu*/cpufreq/scaling_governor", "performance")),
    "turbo": _written((f"{_CPU}/intel_pstate/no_turbo", "1"), (f"{_CPU}/cpufreq/boost", "0")),
    "hyper-threads": _written((f"{_CPU}/smt/control", "off")),
    "transparent huge pages": _written(
        ("/sys/kernel/mm/transparent_hugepage/enabled", "madvise"),
    ),
    "swap": _kernel("vm.swappiness = 1"),
    "System V limits": _kernel("kernel.shmmax = 16000000000", "kernel.sem = 250 32000 100 128"),
    "hardware counters": _kernel("kernel.perf_event_paranoid = 2"),
    "limits of a process": FixScript(
        place=SettingsPlace.LIMITS,
        lines=("* soft nofile 4096", "* hard nofile 65536", "* - nproc 4096"),
    ),
}
"""By the name of a Check; those that are not here take a person, and are told as comments."""


def fix_hints(seen: Sequence[Check]) -> str:
    """The script that mends what can be mended of *seen*; what is ok is not in it."""
    due = [one for one in seen if one.state is not State.OK and one.remedy]
    # first what takes a person
    due.sort(key=lambda one: one.name in SETTINGS)
    parts = [_part(one) for one in due] or [["# Nothing to mend."]]
    return "\n\n".join("\n".join(part) for part in ([_HEAD.rstrip()], *parts))


def _part(one: Check) -> list[str]:
    told = [f"# {one.name}: {one.value}", f"#   {one.meaning}"]
    setting = SETTINGS.get(one.name)
    if setting is None:
        return [*told, f"#   {one.remedy}"]
    # a file for each, so that the script of another day takes none of them back
    path = f"{setting.place}/50-landspeed-{one.name.replace(' ', '-')}.conf"
    written = [f"cat >{path} <<'END'", *setting.lines, "END"]
    return [*told, *written, _APPLY[setting.place].format(path)]
