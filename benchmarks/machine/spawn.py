"""How every program landspeed starts for a measurement is kept: clean, and never outliving us."""

from __future__ import annotations

import errno
import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from base.build import Build
from base.confinement import can_confine, confined_server
from base.errors import ClusterError, LandspeedError, StorageError

CLEAN_ENVIRONMENT = MappingProxyType({"PATH": "/usr/bin:/bin", "HOME": "/"})
"""All that a program may see of our environment: none of the caller's PGHOST or PGOPTIONS."""


def guarded(
    argv: Sequence[str | Path],
    *,
    death: signal.Signals,
    user: pwd.struct_passwd | None = None,
    processors: Sequence[int] = (),
) -> list[str]:
    """Return *argv* run as *user* (None: as us) and sent *death* when we die, even by kill -9.

    It is kept on the logical *processors*, if any are given, by taskset(1).

    setpriv(1) sets the parent-death signal after it has changed the user, because
    a change of user clears it (PR_SET_PDEATHSIG in prctl(2)), and then becomes the
    program: the process we start is the process we wait for. The signal comes when
    the starting *thread* ends, so a Cluster must stay in the thread that made it.
    """
    setpriv = installed(
        "setpriv",
        package="util-linux",
        does="It makes servers end when landspeed is killed.",
        error=ClusterError,
    )
    prefix = [setpriv, "--pdeathsig", death.name.removeprefix("SIG")]
    if user is not None:
        prefix += [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    if processors:
        taskset = installed(
            "taskset",
            package="util-linux",
            does="It keeps pgbench and its backends on the same processors.",
            error=ClusterError,
        )
        prefix = [taskset, "--cpu-list", ",".join(map(str, processors)), *prefix]
    return [*prefix, *map(str, argv)]


def can_sandbox(user: pwd.struct_passwd | None) -> bool:
    """Return whether this machine lets *user* (None: us) use bubblewrap."""
    return can_confine(tuple(guarded([], death=signal.SIGKILL, user=user)))


def sandboxed(
    argv: Sequence[str | Path],
    *,
    death: signal.Signals,
    user: pwd.struct_passwd | None,
    written: Sequence[Path],
    read: Sequence[Path],
) -> list[str]:
    """Return *argv* run as `guarded` runs it and, if *user* can_sandbox, as `confined_server` does.

    bubblewrap itself runs as *user*: as root without privileges it could not send *death* to a
    process of another user.
    """
    if not can_sandbox(user):
        return guarded(argv, death=death, user=user)
    inner = confined_server(guarded(argv, death=death), written=written, read=read)
    return guarded(inner, death=signal.SIGKILL, user=user)


def installed(program: str, *, package: str, does: str, error: type[LandspeedError]) -> str:
    """Return the path of *program*, which Debian's *package* brings; *error* if not installed."""
    found = shutil.which(program)
    if found is None:
        raise error(
            f"{program} is not installed",
            detail=does,
            hint=f'Install it with "apt-get install {package}".',
        )
    return found


def version_line(program: str) -> str:
    """Return what *program* says of its version; empty if it says nothing."""
    done = subprocess.run(
        [program, "--version"], capture_output=True, text=True, errors="replace", check=False
    )
    return done.stdout.strip()


def finding_libraries(build: Build, argv: Sequence[str | Path]) -> list[str | Path]:
    """Return *argv*, which starts a program of *build*, so that this program finds its libraries.

    Nothing before *argv* may find them: they may be anybody's, and setpriv and bubblewrap would
    load them while they still have our privileges.
    """
    return ["env", *map("=".join, build.environment().items()), *argv]


def is_disk_full(output: str) -> bool:
    """Whether a PostgreSQL program's *output* says that a disk is full."""
    # too few semaphores and a full /dev/shm have the same words; a short write has only the hint
    others = ("semaphores", 'shared memory segment "/PostgreSQL')
    lines = [line for line in output.splitlines() if not any(other in line for other in others)]
    words = (os.strerror(errno.ENOSPC), "Check free disk space")
    return any(word in line for line in lines for word in words)


def disk_full(message: str, detail: str) -> StorageError:
    """Return the error for a program that failed because a disk is full."""
    return StorageError(
        f"{message}: the disk is full",
        detail=detail,
        hint="Free some space, or put data directories elsewhere with LANDSPEED_DATA.",
    )


def stop_process(
    process: subprocess.Popen[bytes],
    signals: Sequence[int],
    seconds: float,
    pid: int | None = None,
) -> None:
    """End *process* by the first of *signals* that does so within *seconds*.

    They are sent to process *pid* if that is given, with which *process* ends.
    """
    for number in signals:
        if process.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(pid or process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=seconds)
            return
