"""The machine as its kernel shows it in /proc and /sys: reading only, no judgement."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from benchmarks.machine.machine import memory_bytes


@dataclass(frozen=True)
class KernelView:
    """Vitals are the machine as the files below *root* show it.

    What cannot be read is an empty string or None: kernels and containers differ.
    """

    root: Path = Path("/")

    def read(self, path: str) -> str:
        """The text of the file at absolute *path*, stripped; empty if there is none."""
        try:
            return (self.root / path.lstrip("/")).read_text(errors="replace").strip()
        except OSError:
            return ""

    def read_all(self, pattern: str) -> tuple[str, ...]:
        """The texts of the files that match the absolute glob *pattern*, in order of path."""
        paths = sorted(self.root.glob(pattern.lstrip("/")))
        texts = (self.read(str(path.relative_to(self.root))) for path in paths)
        return tuple(text for text in texts if text)

    def number(self, path: str) -> int | None:
        """The whole number in the file at *path*; None if there is none."""
        text = self.read(path)
        return int(text) if text.lstrip("-").isdigit() else None

    def limit(self, name: str) -> int | None:
        """The soft limit called *name* of this process; None if unlimited or unknown."""
        for line in self.read("/proc/self/limits").splitlines():
            if line.startswith(name):
                soft = line.removeprefix(name).split()[0]
                return int(soft) if soft.isdigit() else None
        return None

    @cached_property
    def cpus(self) -> int:
        """The processors that are online, at least 1."""
        lines = self.read("/proc/cpuinfo").splitlines()
        return max(1, len([1 for line in lines if line.partition(":")[0].strip() == "processor"]))

    @cached_property
    def cpu_quota(self) -> float | None:
        """The processors the control group grants; None if it sets no limit."""
        quota, _, period = self.read("/sys/fs/cgroup/cpu.max").partition(" ")
        if not quota:
            quota = self.read("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")
            period = self.read("/sys/fs/cgroup/cpu/cpu.cfs_period_us")
        if not quota.isdigit() or not period.isdigit():
            return None
        return int(quota) / int(period)

    @cached_property
    def is_virtual(self) -> bool:
        """Whether the processor says that it runs under a hypervisor."""
        return "hypervisor" in self.read("/proc/cpuinfo").split()

    @cached_property
    def steal_share(self) -> float | None:
        """The share of processor time since boot that went to other machines, see proc_stat(5)."""
        words = self.read("/proc/stat").partition("\n")[0].split()
        ticks = [int(word) for word in words[1:9] if word.isdigit()]
        total = sum(ticks)
        return ticks[7] / total if len(ticks) == 8 and total else None

    @cached_property
    def memory_granted(self) -> int | None:
        """Bytes of memory this process may use, a control group's limit included."""
        try:
            return memory_bytes(self.root)
        except (OSError, ValueError):
            return None

    @property
    def memory_available(self) -> int | None:
        """Bytes of it that can be had now without swapping."""
        bounds = (self.memory_field("MemAvailable"), self.memory_granted)
        return min((bound for bound in bounds if bound is not None), default=None)

    def memory_field(self, name: str) -> int | None:
        """The field *name* of /proc/meminfo in bytes; None if there is none."""
        for line in self.read("/proc/meminfo").splitlines():
            key, _, value = line.partition(":")
            if key == name:
                return int(value.split()[0]) * 1024
        return None

    def file_system(self, directory: Path) -> str:
        """The type of the file system *directory* is (or would be) on; "unknown" if not shown."""
        longest, kind = -1, "unknown"
        for line in self.read("/proc/self/mountinfo").splitlines():
            # the fifth field is the mount point, the type follows the dash: proc_pid_mountinfo(5)
            before, _, after = line.partition(" - ")
            point = before.split()[4]
            # of two mounts on one point the later covers the earlier
            if after and len(point) >= longest and directory.is_relative_to(point):
                longest, kind = len(point), after.split()[0]
        return kind
