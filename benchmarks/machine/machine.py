"""The machine that measures: what it is, what it can give, and when it became another one."""

from __future__ import annotations

import os
import platform
import re
import resource
import shutil
import socket
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

from base.errors import UsageError
from base.files import canonical_json, digest_text, read_text
from base.paths import MACHINE
from benchmarks.machine.cgroup import memory_hierarchies
from benchmarks.machine.copy_tree import tree_bytes

ROOT = Path("/")
# cgroup v1 has no word for "no limit": it shows a number near 2^63.
_UNLIMITED = 1 << 60
_HOSTED = "github-hosted"
# Raised when the same server would give other numbers than before.
# 2: a Run of fewer clients than processors is kept on as many as it has clients.
METHOD = "2"


@dataclass(frozen=True, kw_only=True)
class Epoch:
    """A span of time in which a machine's numbers may be compared with each other.

    A new kernel, processor, microcode or C library begins a new one, and so does a new way of
    landspeed to measure. ``workload`` is the digest of a workload of the catalog: one that is
    changed begins anew.
    """

    kernel: str
    cpu: str
    microcode: str
    libc: str
    method: str = METHOD
    workload: str = ""

    @classmethod
    def detect(cls, root: Path = ROOT) -> Self:
        """Return the Epoch this machine is in now."""
        return cls(
            kernel=platform.release(),
            cpu=cpu_model(root),
            microcode=_cpuinfo(root).get("microcode", ""),
            libc=" ".join(platform.libc_ver()).strip(),
        )

    @property
    def identifier(self) -> str:
        """Ten hex digits: the same for the same kernel, cpu, microcode, libc and method."""
        return digest_text(canonical_json(self._told))[:10]

    @property
    def _told(self) -> dict[str, str]:
        facts = asdict(self)
        # other modes have no workload in their identifier
        return facts if self.workload else {k: v for k, v in facts.items() if k != "workload"}

    def facts(self) -> dict[str, str]:
        """Return what the raw record says of it."""
        return {"identifier": self.identifier, **self._told}


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The machine that measures; its name stays when its parts change.

    ``memory_bytes`` is what this process may use: a control group's limit counts. With
    ``memory_limit`` its servers run inside that limit, in bytes, which is the same number then.
    """

    name: str
    cpu: str
    cores: int
    memory_bytes: int
    os: str
    arch: str
    epoch: Epoch
    memory_limit: int | None = None

    @classmethod
    def detect(cls, name: str | None = None) -> Self:
        """Return this machine, called *name*, else $LANDSPEED_MACHINE, else its host name.

        A runner that GitHub hosts is "github-hosted": its host name is another one each time.
        UsageError if no record could have that name.
        """
        hosted = os.environ.get("RUNNER_ENVIRONMENT") == _HOSTED
        own = _HOSTED if hosted else socket.gethostname()
        name = name or os.environ.get("LANDSPEED_MACHINE") or own
        # its results have a directory beside asv's benchmarks.json
        if not re.fullmatch(MACHINE, name) or name.endswith(".json"):
            raise UsageError(
                f'"{name}" cannot be the name of a machine',
                detail="It has letters, digits, dots, hyphens and underscores, 100 at most, "
                "begins with a letter or digit and does not end in .json.",
                hint="Set LANDSPEED_MACHINE to such a name.",
            )
        return cls(
            name=name,
            cpu=cpu_model(),
            cores=len(os.sched_getaffinity(0)),
            memory_bytes=memory_bytes(),
            os=platform.system(),
            arch=platform.machine(),
            epoch=Epoch.detect(),
        )

    def limited(self, memory_bytes: int | None) -> Self:
        """Return this machine with servers limited to *memory_bytes*: another machine, by its name.

        What is measured there is a series of its own. Itself for None. UsageError if there is
        no more memory.
        """
        if memory_bytes is None:
            return self
        if memory_bytes >= self.memory_bytes:
            raise UsageError(
                f"a limit of {spell_size(memory_bytes)} limits nothing",
                detail=f"{self.name} has {self.memory_bytes / 2**30:.1f} GiB of memory.",
                hint="Leave out --memory, or give less than that.",
            )
        return replace(
            self,
            name=f"{self.name}-{spell_size(memory_bytes)}",
            memory_bytes=memory_bytes,
            memory_limit=memory_bytes,
        )

    def facts(self) -> dict[str, Any]:
        """Return what the raw record says of it, without the Epoch."""
        facts = asdict(self)
        del facts["epoch"]
        if self.memory_limit is None:
            del facts["memory_limit"]
        return facts


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What this machine can give to one run; None means no limit.

    ``disk_bytes`` is what clusters may take where they live.
    """

    memory_bytes: int
    disk_bytes: int
    open_files: int | None = None
    processes: int | None = None

    @classmethod
    def detect(cls, machine: Machine, data: Path) -> Self:
        """Return what *machine*, the one we run on, can give; *data* is where clusters will live.

        What is there already counts as free: it is removed when room is needed.
        """
        probe = next(path for path in (data, *data.parents) if path.exists())
        return cls(
            memory_bytes=machine.memory_bytes,
            disk_bytes=shutil.disk_usage(probe).free + tree_bytes(data),
            open_files=_soft_limit(resource.RLIMIT_NOFILE),
            processes=_soft_limit(resource.RLIMIT_NPROC),
        )


def spell_size(size: int) -> str:
    """Return *size* bytes as people write a limit, ``1g`` or ``768m``; in bytes if not whole kB."""
    for unit, bytes_ in (("g", 1 << 30), ("m", 1 << 20), ("k", 1 << 10)):
        if size % bytes_ == 0:
            return f"{size // bytes_}{unit}"
    return str(size)


def cpu_model(root: Path = ROOT) -> str:
    """Return the processor as the kernel names it; the architecture where it has no name."""
    return _cpuinfo(root).get("model name") or platform.machine()


def memory_bytes(root: Path = ROOT) -> int:
    """Return the bytes of memory this process may use: the machine's, or its cgroup's limit."""
    meminfo = (root / "proc/meminfo").read_text()
    total = re.search(r"^MemTotal:\s+(\d+) kB", meminfo, re.MULTILINE)
    if total is None:
        raise ValueError("there is no MemTotal in /proc/meminfo")
    limits = [int(total[1]) * 1024]
    # a container may show a path of the host's that is not there inside; the groups above it are
    for hierarchy in memory_hierarchies(root):
        texts = [read_text(level / hierarchy.limit).strip() for level in hierarchy.levels]
        limits += [int(text) for text in texts if text.isdigit() and 0 < int(text) < _UNLIMITED]
    return min(limits)


def _cpuinfo(root: Path) -> dict[str, str]:
    """Return the fields of the first processor in /proc/cpuinfo."""
    first = read_text(root / "proc/cpuinfo").split("\n\n", 1)[0]
    fields = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in fields}


def _soft_limit(kind: int) -> int | None:
    soft, _ = resource.getrlimit(kind)
    return None if soft == resource.RLIM_INFINITY else soft
