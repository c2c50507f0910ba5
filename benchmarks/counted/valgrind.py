"""Valgrind, the program that counts: how a server is run under it, and what its counts rest on."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import subprocess
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Self

from base.errors import MeasureError
from base.files import canonical_json, digest_file, digest_text
from benchmarks.machine.machine import Machine, cpu_model
from benchmarks.machine.spawn import installed
from benchmarks.workloads.points import ComparableCounts

ROOT = Path("/")
# Raise it when the same server would give other counts: old ones do not count then.
_METHOD = 4
# sys/personality.h
_NO_RANDOMIZE = 0x0040000
_ASK = 0xFFFFFFFF
_RANDOMIZE = "proc/sys/kernel/randomize_va_space"
# What glibc made of the processor it sees: the variants of memcpy and the like go by it.
_CPU_LINES = re.compile(r"(x86\.|dl_hwcap|dl_platform|dl_string_platform).*")
_LIBC = re.compile(r"libc(\.so\.6|-2\.\d+\.so|\.musl-\w+\.so\.1)")
_LOADER = re.compile(r"ld(-linux[\w-]*|-2\.\d+|64)\.so(\.\d+)?")


@dataclass(frozen=True, kw_only=True)
class CountEnvironment:
    """What counts must share to be comparable, on whatever machine they were made.

    The processor is not in it, only what valgrind shows of one (``cpu``, a digest); ``libc`` is
    the sha256 of the C library that servers run with. The compiler is part of each Build.
    ``workload`` is a digest of a workload of the catalog: one that is changed begins anew.
    """

    valgrind: str
    libc: str
    cpu: str
    arch: str
    method: int = _METHOD
    workload: str = ""

    @classmethod
    def detect(cls) -> Self:
        """The one that counts made here and now are of; MeasureError without valgrind."""
        program = valgrind()
        loader = _mapped("self", _LOADER)
        return cls(
            valgrind=_said([program, "--version"]).strip().removeprefix("valgrind-"),
            libc=libc_of("self"),
            cpu=_shown_cpu(program, loader),
            arch=platform.machine(),
        )

    @property
    def identifier(self) -> str:
        """Ten hex digits: the same where counts may be compared."""
        # counts of pgbench's own scripts have no workload in their identifier
        told = {name: value for name, value in asdict(self).items() if value != ""}
        return digest_text(canonical_json(told))[:10]

    def facts(self, machine: Machine) -> dict[str, Any]:
        """What the raw record says of it, beside what else is known of *machine*."""
        named = {"valgrind": self.valgrind, "libc_sha256": self.libc, "shown_cpu": self.cpu}
        return {
            **machine.epoch.facts(),
            **named,
            "method": self.method,
            "identifier": self.identifier,
        }


@cache
def count_epoch() -> CountEnvironment:
    """The CountEnvironment of this machine, looked for once."""
    return CountEnvironment.detect()


def comparable_counts(
    machine: Machine, pgbench_version: str, digests: Iterable[str] = ("",)
) -> ComparableCounts:
    """What counts must share to stand for one that is made here and now of these *digests*."""
    epochs = [replace(count_epoch(), workload=one).identifier for one in digests]
    return ComparableCounts(machine=machine, pgbench_version=pgbench_version, epochs=epochs)


def valgrind() -> str:
    """The path of the program; MeasureError if it is not installed."""
    return installed(
        "valgrind",
        package="valgrind",
        does="It counts the instructions that a server executes.",
        error=MeasureError,
    )


def counting(directory: Path, root: Path = ROOT) -> list[str]:
    """The words that run a server under callgrind, one file per process in *directory*.

    Addresses are not randomised; MeasureError where that cannot be.
    """
    return [
        *_fixed_addresses(root),
        *(valgrind(), "-q", "--tool=callgrind", "--trace-children=yes"),
        # lines are of no use without -g; vgdb would leave pipes in /tmp
        *("--dump-line=no", "--vgdb=no", f"--callgrind-out-file={directory}/%p"),
    ]


def require_countable() -> None:
    """MeasureError, before anything is made ready, where no server can be counted."""
    valgrind()
    _fixed_addresses(ROOT)


def _fixed_addresses(root: Path) -> list[str]:
    if _is_off_everywhere(root):
        return []
    if not _may_fix_addresses():
        raise MeasureError(
            "address randomisation cannot be turned off",
            detail="personality(ADDR_NO_RANDOMIZE) is forbidden here, as it is by the seccomp "
            "profile that containers have by default. Counts would vary by 0.1 %.",
            hint='Run the container with "--security-opt seccomp=unconfined" or a profile that '
            'allows it, or set "sysctl kernel.randomize_va_space=0" on the host.',
        )
    setarch = installed(
        "setarch",
        package="util-linux",
        does="It turns off address randomisation.",
        error=MeasureError,
    )
    return [setarch, platform.machine(), "-R"]


def _is_off_everywhere(root: Path) -> bool:
    try:
        return (root / _RANDOMIZE).read_text().strip() == "0"
    except OSError:
        return False


def _may_fix_addresses() -> bool:
    """Whether we may: it is tried on this very thread, and taken back."""
    libc = ctypes.CDLL(None, use_errno=True)
    before = libc.personality(_ASK)
    if before == -1 or libc.personality(before | _NO_RANDOMIZE) == -1:
        return False
    libc.personality(before)
    return True


def require_fixed_addresses(pids: Iterable[int], root: Path = ROOT) -> None:
    """MeasureError unless the addresses of every process of *pids* are proven not randomised."""
    if _is_off_everywhere(root):
        return
    for pid in pids:
        try:
            flags = int(_personality(root / "proc" / str(pid)), 16)
        except FileNotFoundError:
            continue  # it has ended
        except (OSError, ValueError) as error:
            raise _not_proven(pid, str(error)) from error
        if not flags & _NO_RANDOMIZE:
            raise _not_proven(pid, f"Its personality is {flags:08x}.")


def _personality(process: Path) -> str:
    path = process / "personality"
    try:
        return _read(path)
    except PermissionError:
        # root in a container has no CAP_SYS_PTRACE and may not look; who runs the server may
        owner = process.stat()
        asked = ["cat", str(path)]
        done = subprocess.run(
            asked,
            user=owner.st_uid,
            group=owner.st_gid,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            process.stat()  # if it has ended meanwhile, that is the error
            raise OSError(done.stderr.strip()) from None
        return done.stdout


def _read(path: Path) -> str:
    return path.read_text()


def _not_proven(pid: int, detail: str) -> MeasureError:
    return MeasureError(
        f"address randomisation is not off in process {pid}",
        detail=detail,
        hint="See /proc/PID/personality, which a container may need --cap-add SYS_PTRACE for; "
        "kernel.randomize_va_space=0 turns it off everywhere.",
    )


def libc_of(pid: int | str) -> str:
    """The sha256 of the C library that process *pid* runs with."""
    return _digest(_mapped(pid, _LIBC))


@cache
def _digest(path: Path) -> str:
    return digest_file(path)


def _mapped(pid: int | str, name: re.Pattern[str]) -> Path:
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        path = Path(line.partition("/")[1] + line.partition("/")[2])
        if name.fullmatch(path.name):
            return path
    raise MeasureError(
        "no C library was found in a process", detail=f"/proc/{pid}/maps names none that is known."
    )


def _shown_cpu(program: str, loader: Path) -> str:
    """A digest of what the C library makes of the processor valgrind shows it.

    The loader says it from glibc 2.33 on; before that the real processor stands for it.
    """
    argv = [program, "-q", "--tool=none", "--vgdb=no", str(loader), "--list-diagnostics"]
    lines = [line for line in _said(argv).splitlines() if _CPU_LINES.fullmatch(line)]
    return digest_text("\n".join(lines))[:16] if lines else cpu_model()


def _said(argv: list[str]) -> str:
    done = subprocess.run(
        argv,
        env={"PATH": os.defpath, "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        errors="replace",
        check=False,
    )
    return done.stdout
