"""Make the script of ``landspeed doctor --fix-hints``, which root can read and run.

Kernel settings go where they survive a restart: sysctl.d(5), tmpfiles.d(5) for files in /sys,
limits.conf(5). What a script cannot fix becomes a comment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from landspeed.doctor.check import Check, State
from landspeed.doctor.processors import CPU
from landspeed.doctor.system import THP

_HEAD = """\
#!/bin/sh
# Fixes for what "landspeed doctor" found on this machine. Read them, delete those you do not
# want, then run the rest as root. They suit a machine that measures, not a desktop.
set -eu
"""


# Directories of settings that are read at every start, and what applies them now.
_SYS, _KERNEL, _LIMITS = "/etc/tmpfiles.d", "/etc/sysctl.d", "/etc/security/limits.d"
_APPLY = {
    _SYS: "systemd-tmpfiles --create {}",
    _KERNEL: "sysctl --load={}",
    _LIMITS: "# takes effect at the next login, or when the runner's service restarts",
}

# systemd-tmpfiles ignores a file that does not exist.
SETTINGS: Mapping[str, tuple[str, ...]] = {
    "CPU governor": (_SYS, f"w {CPU}/cpu*/cpufreq/scaling_governor - - - - performance"),
    "turbo": (
        _SYS,
        f"w {CPU}/intel_pstate/no_turbo - - - - 1",
        f"w {CPU}/cpufreq/boost - - - - 0",
    ),
    "hyper-threads": (_SYS, f"w {CPU}/smt/control - - - - off"),
    "transparent huge pages": (_SYS, f"w {THP} - - - - madvise"),
    "swap": (_KERNEL, "vm.swappiness = 1"),
    "System V limits": (_KERNEL, "kernel.shmmax = 16000000000", "kernel.sem = 250 32000 100 128"),
    "hardware counters": (_KERNEL, "kernel.perf_event_paranoid = 2"),
    "process limits": (_LIMITS, "* soft nofile 4096", "* hard nofile 65536", "* - nproc 4096"),
}
"""The directory and the lines of a file that fixes a check, by the name of the check.

Other checks need a person and become comments.
"""


def fix_hints(seen: Sequence[Check]) -> str:
    """Return the script that fixes those of *seen* that are not ok, as far as a script can."""
    due = [one for one in seen if one.state is not State.OK and one.remedy]
    # Comments first, then what the script fixes.
    due.sort(key=lambda one: one.name in SETTINGS)
    parts = [_part(one) for one in due] or [["# Nothing to fix."]]
    return "\n\n".join("\n".join(part) for part in ([_HEAD.rstrip()], *parts))


def _part(one: Check) -> list[str]:
    text = [f"# {one.name}: {one.value}", f"#   {one.meaning}"]
    if one.name not in SETTINGS:
        return [*text, f"#   {one.remedy}"]
    directory, *lines = SETTINGS[one.name]
    # One file per check, so that a later script does not undo earlier fixes.
    path = f"{directory}/50-landspeed-{one.name.replace(' ', '-')}.conf"
    return [*text, f"cat >{path} <<'END'", *lines, "END", _APPLY[directory].format(path)]
