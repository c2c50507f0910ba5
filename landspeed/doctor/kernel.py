"""Read what the kernel shows of this machine in /proc and /sys."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from base.files import read_text
from benchmarks.machine.machine import memory_bytes


@dataclass(frozen=True)
class Kernel:
    """The machine as the files below *root* show it.

    A value that cannot be read is an empty string or None: kernels and containers differ.
    """

    root: Path = Path("/")

    def read(self, path: str) -> str:
        """Return the stripped text of the file at absolute *path*; empty if there is none."""
        return read_text(self.root / path.lstrip("/")).strip()

    def read_all(self, pattern: str) -> tuple[str, ...]:
        """Return the texts of the files that match the absolute glob *pattern*, sorted by path."""
        paths = sorted(self.root.glob(pattern.lstrip("/")))
        texts = (self.read(str(path.relative_to(self.root))) for path in paths)
        return tuple(text for text in texts if text)

    def number(self, path: str) -> int | None:
        """Return the whole number in the file at *path*; None if there is none."""
        text = self.read(path)
        return int(text) if text.lstrip("-").isdigit() else None

    def limit(self, name: str) -> int | None:
        """Return the soft limit *name* of this process; None if unlimited or unknown."""
        return self._number_after(name, "/proc/self/limits")

    @cached_property
    def cpus(self) -> int:
        """Number of processors online, at least 1."""
        return max(1, len(re.findall(r"^processor\s*:", self.read("/proc/cpuinfo"), re.MULTILINE)))

    @cached_property
    def cpu_quota(self) -> float | None:
        """Number of processors that the cgroup grants; None without a limit."""
        quota, _, period = self.read("/sys/fs/cgroup/cpu.max").partition(" ")
        if not quota:
            quota = self.read("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")
            period = self.read("/sys/fs/cgroup/cpu/cpu.cfs_period_us")
        if not quota.isdigit() or not period.isdigit():
            return None
        return int(quota) / int(period)

    @cached_property
    def steal_share(self) -> float | None:
        """Share of processor time since boot that other machines got, see proc_stat(5)."""
        words = self.read("/proc/stat").partition("\n")[0].split()
        ticks = [int(word) for word in words[1:9] if word.isdigit()]
        total = sum(ticks)
        return ticks[7] / total if len(ticks) == 8 and total else None

    @cached_property
    def memory_granted(self) -> int | None:
        """Bytes of memory this process may use; a cgroup's limit counts."""
        try:
            return memory_bytes(self.root)
        except (OSError, ValueError):
            return None

    def memory_field(self, name: str) -> int | None:
        """Return the field *name* of /proc/meminfo in bytes; None if there is none."""
        size = self._number_after(f"{name}:", "/proc/meminfo")
        return None if size is None else size * 1024

    def _number_after(self, name: str, path: str) -> int | None:
        found = re.search(rf"^{name}\s+(\d+)\b", self.read(path), re.MULTILINE)
        return int(found[1]) if found else None

    def file_system(self, directory: Path) -> str:
        """Return the type of the file system that holds *directory*; "unknown" if not shown."""
        longest, kind = -1, "unknown"
        for line in self.read("/proc/self/mountinfo").splitlines():
            # Field 5 is the mount point, the type follows the dash: proc_pid_mountinfo(5).
            before, _, after = line.partition(" - ")
            point = before.split()[4]
            # A later mount on the same point hides the earlier one.
            if after and len(point) >= longest and directory.is_relative_to(point):
                longest, kind = len(point), after.split()[0]
        return kind
