"""Check what servers need besides processors: memory, limits, disks, programs, a user."""

from __future__ import annotations

import shutil
from pathlib import Path

from base.errors import StorageError
from base.paths import SERVER_USER, Paths, server_user
from landspeed.doctor.check import Check, fail, named, not_shown, note, ok, warn
from landspeed.doctor.kernel import Kernel

GB = 1_000_000_000
# needed: a source tree, a build and a small data directory; wanted: data larger than memory
DISK_NEEDED, DISK_WANTED = 3 * GB, 30 * GB
MEMORY_NEEDED, MEMORY_WANTED = 1 * GB, 4 * GB
MOST_CLIENTS = 256  # each takes a socket of pgbench and a process of the server
# for servers before 9.3 (shared memory) and before 10 (semaphores)
SHMMAX_WANTED, SEMAPHORE_SETS_WANTED = 4 * GB, 128
TOOLCHAIN = ("gcc", "ld", "make", "bison", "flex", "perl", "git", "ccache")
REFLINK_FILE_SYSTEMS = ("btrfs", "xfs", "bcachefs")
VOLATILE_FILE_SYSTEMS = ("tmpfs", "ramfs")
THP = "/sys/kernel/mm/transparent_hugepage/enabled"


def system_checks(kernel: Kernel, paths: Paths, search: str | None) -> list[Check]:
    """Check memory, limits, disks, the server user, and the programs found in *search*."""
    return named(
        {
            "memory": _memory(kernel),
            "transparent huge pages": _huge_pages(kernel),
            "swap": _swap(kernel),
            "process limits": _process_limits(kernel),
            "System V limits": _shared_memory(kernel),
            "disk for sources and builds": _disk(paths.cache),
            "disk for data directories": _disk(paths.server_root),
            "data file system": _file_system(kernel, paths.server_root),
            "toolchain": _toolchain(search),
            "server user": _server_user(),
        }
    )


def _memory(kernel: Kernel) -> Check:
    granted, unused = kernel.memory_granted, kernel.memory_field("MemAvailable")
    if granted is None:
        return not_shown()
    # A cgroup may grant less than the machine has available.
    available = granted if unused is None else min(granted, unused)
    value = f"{available / GB:.1f} of {granted / GB:.1f} GB available"
    judge = fail if available < MEMORY_NEEDED else warn
    return judge(
        value,
        "The data sizes follow the memory, and with this little they hardly differ.",
        f"Free some, or use a machine with at least {MEMORY_WANTED / GB:.0f} GB.",
        unless=available >= MEMORY_WANTED,
    )


def _huge_pages(kernel: Kernel) -> Check:
    chosen = kernel.read(THP).partition("[")[2].partition("]")[0]
    if not chosen:
        return not_shown()
    return warn(
        chosen,
        "The kernel merges pages while servers run, which changes their speed at random.",
        f"echo madvise | sudo tee {THP}",
        unless=chosen != "always",
    )


def _swap(kernel: Kernel) -> Check:
    size = kernel.memory_field("SwapTotal") or 0
    if size == 0:
        return ok("none")
    swappiness = kernel.number("/proc/sys/vm/swappiness")
    return warn(
        f"{size / GB:.1f} GB, swappiness {'not shown' if swappiness is None else swappiness}",
        "The kernel may swap out parts of a server during a run.",
        "sudo sysctl vm.swappiness=1, or sudo swapoff --all",
        unless=swappiness is not None and swappiness <= 10,
    )


def _process_limits(kernel: Kernel) -> Check:
    seen = {"nofile": kernel.limit("Max open files"), "nproc": kernel.limit("Max processes")}
    short = [key for key, n in seen.items() if n is not None and n < 4 * MOST_CLIENTS]
    return warn(
        ", ".join(f"{key} {'unlimited' if n is None else n}" for key, n in seen.items()),
        f"Runs with {MOST_CLIENTS} clients may lack sockets or server processes.",
        f"Raise {' and '.join(short)} to {16 * MOST_CLIENTS} in /etc/security/limits.conf.",
        unless=not short,
    )


def _shared_memory(kernel: Kernel) -> Check:
    shmmax = kernel.number("/proc/sys/kernel/shmmax")
    semaphores = kernel.read("/proc/sys/kernel/sem").split()
    if shmmax is None or len(semaphores) != 4:
        return not_shown()
    sets = int(semaphores[3])
    size = f"{shmmax / GB:.1f} GB" if shmmax < 1 << 60 else "unlimited"
    return warn(
        f"shmmax {size}, {sets} semaphore sets",
        "Servers before 9.3 need them for shared buffers, servers before 10 for semaphores.",
        f'sudo sysctl kernel.shmmax={16 * GB} kernel.sem="250 32000 100 {SEMAPHORE_SETS_WANTED}"',
        unless=shmmax >= SHMMAX_WANTED and sets >= SEMAPHORE_SETS_WANTED,
    )


def _disk(directory: Path) -> Check:
    nearest = next(path for path in (directory, *directory.parents) if path.exists())
    free = shutil.disk_usage(nearest).free
    value = f"{free / GB:.1f} GB free at {directory}"
    if free >= DISK_WANTED:
        return ok(value)
    remedy = "Free some, or put the cache elsewhere with LANDSPEED_CACHE."
    if free >= DISK_NEEDED:
        return warn(value, "Larger data sizes will be listed as not applicable.", remedy)
    return fail(value, "This is not enough to build one server and load its data.", remedy)


def _file_system(kernel: Kernel, directory: Path) -> Check:
    seen = kernel.file_system(directory)
    if seen in VOLATILE_FILE_SYSTEMS:
        return warn(
            seen,
            "This file system never writes to a disk, so read-write results are not realistic.",
            "Put data directories on a disk with LANDSPEED_DATA.",
        )
    return note(
        seen,
        "Data directories are copied in full before read-write runs.",
        "Put them on XFS or btrfs with LANDSPEED_DATA, where a copy shares blocks and is instant.",
        unless=seen in REFLINK_FILE_SYSTEMS,
    )


def _toolchain(search: str | None) -> Check:
    missing = [program for program in TOOLCHAIN if shutil.which(program, path=search) is None]
    value = f"no {', '.join(missing)}" if missing else ", ".join(TOOLCHAIN)
    return fail(value, "Building PostgreSQL needs them.", "make setup", unless=not missing)


def _server_user() -> Check:
    try:
        user = server_user()
    except StorageError as error:
        return fail("none", error.message, error.hint)
    if user is None:
        return ok("you")
    return warn(
        user.pw_name,
        "Other services may run as this user, and could then access the servers' files.",
        f'make setup (it adds the system user "{SERVER_USER}")',
        unless=user.pw_name != "nobody",
    )
