"""Checks of what servers need beside processors: memory, limits, disks, programs, a user."""

from __future__ import annotations

import shutil
from pathlib import Path

from base.errors import StorageError
from base.paths import SERVER_USER, Paths, server_user
from landspeed.doctor.check import Check, fail, note, ok, unseen, warn
from landspeed.doctor.kernel import KernelView

GB = 1_000_000_000
# a source tree, a build and a small data directory; and what lets a tier exceed the memory
DISK_NEEDED, DISK_WANTED = 3 * GB, 30 * GB
MEMORY_NEEDED, MEMORY_WANTED = 1 * GB, 4 * GB
# at the widest rung pgbench opens a socket per client, the server starts a process for it
WIDEST_RUNG = 256
# the kernel settings that servers before 9.3 (shared memory) and before 10 (semaphores) live by
SHMMAX_WANTED, SEMAPHORE_SETS_WANTED = 4 * GB, 128
TOOLCHAIN = ("cc", "make", "bison", "flex", "perl", "git")
REFLINK_FILE_SYSTEMS = ("btrfs", "xfs", "bcachefs")
VOLATILE_FILE_SYSTEMS = ("tmpfs", "ramfs")
THP = "/sys/kernel/mm/transparent_hugepage/enabled"


def system_checks(vitals: KernelView, paths: Paths, search: str | None) -> list[Check]:
    """The Checks of memory, limits, disks and of the programs looked for in *search*."""
    return [
        _memory(vitals),
        _huge_pages(vitals),
        _swap(vitals),
        _process_limits(vitals),
        _shared_memory(vitals),
        _disk("disk for sources and builds", paths.cache),
        _disk("disk for data directories", paths.server_root),
        _file_system(vitals, paths.server_root),
        _toolchain(search),
        _ccache(search),
        _server_user(),
    ]


def _memory(vitals: KernelView) -> Check:
    name = "memory"
    available, granted = vitals.memory_available, vitals.memory_granted
    if available is None or granted is None:
        return unseen(name)
    value = f"{available / GB:.1f} of {granted / GB:.1f} GB available"
    if available >= MEMORY_WANTED:
        return ok(name, value)
    judge = fail if available < MEMORY_NEEDED else warn
    return judge(
        name,
        value,
        "Tiers are sized from the memory, and in this little they hardly differ.",
        f"Free some, or use a machine with at least {MEMORY_WANTED / GB:.0f} GB.",
    )


def _huge_pages(vitals: KernelView) -> Check:
    name = "transparent huge pages"
    chosen = vitals.read(THP).partition("[")[2].partition("]")[0]
    if not chosen:
        return unseen(name)
    if chosen != "always":
        return ok(name, chosen)
    return warn(
        name,
        chosen,
        "The kernel joins pages while servers run: a speed that comes and goes by itself.",
        f"echo madvise | sudo tee {THP}",
    )


def _swap(vitals: KernelView) -> Check:
    name = "swap"
    size = vitals.memory_field("SwapTotal") or 0
    if size == 0:
        return ok(name, "none")
    swappiness = vitals.number("/proc/sys/vm/swappiness")
    value = f"{size / GB:.1f} GB, swappiness {'not shown' if swappiness is None else swappiness}"
    if swappiness is not None and swappiness <= 10:
        return ok(name, value)
    return warn(
        name,
        value,
        "Parts of a server may be swapped out while it is being measured.",
        "sudo sysctl vm.swappiness=1, or sudo swapoff --all",
    )


def _process_limits(vitals: KernelView) -> Check:
    name = "limits of a process"
    seen = {"nofile": vitals.limit("Max open files"), "nproc": vitals.limit("Max processes")}
    value = ", ".join(f"{key} {'unlimited' if n is None else n}" for key, n in seen.items())
    short = [key for key, n in seen.items() if n is not None and n < 4 * WIDEST_RUNG]
    if not short:
        return ok(name, value)
    return warn(
        name,
        value,
        f"The rung of {WIDEST_RUNG} clients may not get its sockets or server processes.",
        f"Raise {' and '.join(short)} to {16 * WIDEST_RUNG} in /etc/security/limits.conf.",
    )


def _shared_memory(vitals: KernelView) -> Check:
    name = "System V limits"
    shmmax = vitals.number("/proc/sys/kernel/shmmax")
    semaphores = vitals.read("/proc/sys/kernel/sem").split()
    if shmmax is None or len(semaphores) != 4:
        return unseen(name)
    sets = int(semaphores[3])
    size = f"{shmmax / GB:.1f} GB" if shmmax < 1 << 60 else "unlimited"
    value = f"shmmax {size}, {sets} semaphore sets"
    if shmmax >= SHMMAX_WANTED and sets >= SEMAPHORE_SETS_WANTED:
        return ok(name, value)
    return warn(
        name,
        value,
        "Servers before 9.3 take all their buffers, those before 10 their semaphores, from these.",
        f'sudo sysctl kernel.shmmax={16 * GB} kernel.sem="250 32000 100 {SEMAPHORE_SETS_WANTED}"',
    )


def _disk(name: str, directory: Path) -> Check:
    nearest = next(path for path in (directory, *directory.parents) if path.exists())
    free = shutil.disk_usage(nearest).free
    value = f"{free / GB:.1f} GB free at {directory}"
    if free >= DISK_WANTED:
        return ok(name, value)
    remedy = "Free some, or put the cache elsewhere with LANDSPEED_CACHE."
    if free >= DISK_NEEDED:
        return warn(name, value, "Larger tiers will be shown as not applicable.", remedy)
    return fail(name, value, "This is not enough to build and load even one server.", remedy)


def _file_system(vitals: KernelView, directory: Path) -> Check:
    name = "file system of data"
    seen = vitals.file_system(directory)
    if seen in VOLATILE_FILE_SYSTEMS:
        return warn(
            name,
            seen,
            "Nothing is ever written to a disk here: read-write scenarios measure something else.",
            "Put data directories on a disk with LANDSPEED_DATA.",
        )
    if seen in REFLINK_FILE_SYSTEMS:
        return ok(name, seen)
    return note(
        name,
        seen,
        "Data directories are copied byte by byte before read-write runs.",
        "On XFS or btrfs (LANDSPEED_DATA) the copies share their blocks and take no time.",
    )


def _toolchain(search: str | None) -> Check:
    name = "toolchain"
    missing = [program for program in TOOLCHAIN if shutil.which(program, path=search) is None]
    if not missing:
        return ok(name, ", ".join(TOOLCHAIN))
    value = f"no {', '.join(missing)}"
    return fail(name, value, "PostgreSQL cannot be built without.", "make setup")


def _ccache(search: str | None) -> Check:
    name = "ccache"
    found = shutil.which("ccache", path=search)
    if found is not None:
        return ok(name, found)
    meaning = "Every build compiles everything anew: minutes instead of seconds."
    return warn(name, "none", meaning, "make setup")


def _server_user() -> Check:
    name = "user of the servers"
    try:
        user = server_user()
    except StorageError as error:
        return fail(name, "none", error.message, error.hint)
    if user is None:
        return ok(name, "you")
    if user.pw_name != "nobody":
        return ok(name, user.pw_name)
    return warn(
        name,
        user.pw_name,
        "Other services may run as this user too, and could reach the servers' files.",
        f'make setup (it adds the system user "{SERVER_USER}")',
    )
