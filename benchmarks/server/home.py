"""The directory where clusters live: one that the servers' user can enter, and nobody else's."""

from __future__ import annotations

import os
import pwd
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from base.build import BUILD_JSON, Build
from base.errors import BusyError, StorageError
from base.files import locked, read_end, remove_tree, storage_errors
from base.paths import Paths, reachable_by_others, server_user
from benchmarks.machine.cgroup import Cgroup
from benchmarks.machine.copy_tree import clone_tree, make_readable
from benchmarks.machine.processes import end_orphan

PORT = 5432  # names the socket file and nothing else: no server listens on TCP
_SOCKET_NAME = f".s.PGSQL.{PORT}"
_LONGEST_SOCKET = 107  # sizeof(sockaddr_un.sun_path) - 1, see unix(7)
_SHORT_ROOT = Path("/tmp")  # noqa: S108  mkdtemp makes a private directory in it
_SHORT_PREFIX = "landspeed-"
# As long for every home whose own name leaves room for it, and short enough for sockets: the
# lengths of paths move a server's stack and heap, and vector instructions take other numbers of
# steps then.
_RUN_LENGTH = 80
_RANDOM_LENGTH = 8  # what mkdtemp adds to a prefix
_DATA_LINK = "data"
_GROUP_LINK = "group"
_SCRATCH = "client"
_LOG_BYTES = 16 << 20
TEMPLATES = "templates"
"""The directory in a home that holds the templates."""
_MIRRORS_KEPT = 64  # of some 40 MB each


@dataclass(frozen=True, kw_only=True)
class RunDirectory:
    """What one server needs besides its data: sockets, log, scratch space.

    It belongs to the landspeed that holds its lock and is removed with all that is in it.
    ``sockets`` is mode 0700 and its path short enough for a socket; in ``scratch`` the server's
    user may write.
    """

    path: Path
    sockets: Path
    user: pwd.struct_passwd | None

    @property
    def log(self) -> Path:
        """The server's log."""
        return self.path / "server.log"

    def log_text(self) -> str:
        """Return the server's log; of a long one the end."""
        with suppress(OSError):
            return read_end(self.log, _LOG_BYTES)
        return ""

    def times_logged(self, text: str) -> int:
        """Return how many lines of the server's log have *text*."""
        # a server that logs every statement writes gigabytes
        with suppress(OSError), self.log.open(errors="replace") as log:
            return sum(text in line for line in log)
        return 0

    @property
    def scratch(self) -> Path:
        """Where the client leaves files."""
        return self.path / _SCRATCH

    def serve(self, data: Path) -> None:
        """Note that a server runs on *data* now: should we be killed, it is ended with this."""
        link = self.path / _DATA_LINK
        link.unlink(missing_ok=True)
        link.symlink_to(data)

    def limit_memory(self, memory_bytes: int) -> Cgroup:
        """Return a Cgroup for the server; should we be killed, it is removed with this."""
        group = Cgroup.make(self.path.name, memory_bytes)
        (self.path / _GROUP_LINK).symlink_to(group.path)
        return group

    def own(self, path: Path) -> None:
        """Make directory *path*, if it is not there, the server's user's alone."""
        path.mkdir(exist_ok=True)
        path.chmod(0o700)
        if self.user is not None:
            os.chown(path, self.user.pw_uid, self.user.pw_gid)


@dataclass(frozen=True, kw_only=True)
class ServerHome:
    """The directory that holds all clusters of one cache."""

    root: Path
    user: pwd.struct_passwd | None

    @classmethod
    def open(cls, paths: Paths, root: Path | None = None) -> Self:
        """Return the home at *root*, else that *paths* names, made if needed.

        StorageError if it cannot be one.
        """
        root, user = root or paths.server_root, server_user()
        with storage_errors(f'create "{root}"', root):
            make_passable(root)
        if root.stat().st_uid != os.geteuid():
            raise StorageError(
                f'"{root}" belongs to another user',
                hint="Remove it, or put data directories elsewhere with LANDSPEED_DATA.",
            )
        if user is not None and not reachable_by_others(root):
            raise StorageError(
                f'user "{user.pw_name}" cannot enter "{root}"',
                detail="PostgreSQL refuses to run as root, so its servers run as that user.",
                hint="Put data directories elsewhere with LANDSPEED_DATA.",
            )
        return cls(root=root, user=user)

    @property
    def runs(self) -> Path:
        return self.root / "runs"

    @property
    def templates(self) -> Path:
        return self.root / TEMPLATES

    @property
    def mirrors(self) -> Path:
        return self.root / "builds"

    def reachable(self, build: Build) -> Build:
        """Return *build* where the server's user can run it: itself, or a copy of it in this home.

        A copy is named by the build's digest, so the same server is copied once. What
        somebody else built is not copied: it may lie in many places. StorageError then.
        """
        if self.user is None or _runs_for_others(build):
            return build
        if build.external is not None:
            raise StorageError(
                f'user "{self.user.pw_name}" cannot run "{build.program("postgres")}"',
                detail="PostgreSQL refuses to run as root, so its servers run as that user.",
                hint="Install it where every user may read it, or run landspeed as its owner.",
            )
        mirror = self.mirrors / build.digest[:16]
        with locked(self.root / "builds.lock"):
            if not (mirror / BUILD_JSON).exists():
                self._mirror(build, mirror)
            os.utime(mirror / BUILD_JSON)
        return replace(build, prefix=mirror)

    def _mirror(self, build: Build, mirror: Path) -> None:
        fresh = mirror.with_name(f"{mirror.name}.new")
        for leftover in (fresh, mirror, *self._old_mirrors()):
            remove_tree(leftover)
        make_passable(self.mirrors)
        with storage_errors(f'copy "{build.prefix}" to "{mirror}"', mirror):
            clone_tree(build.prefix, fresh)
            make_readable(fresh)
            fresh.rename(mirror)

    def _old_mirrors(self) -> list[Path]:
        """Return the mirrors that were not among the most recently used."""
        proofs = self.mirrors.glob(f"*/{BUILD_JSON}")
        by_use = sorted(proofs, key=lambda proof: proof.stat().st_mtime, reverse=True)
        return [proof.parent for proof in by_use[_MIRRORS_KEPT:]]

    @contextmanager
    def run_directory(self) -> Iterator[RunDirectory]:
        """Yield a fresh RunDirectory; what killed landspeeds left behind is cleared away first."""
        with ExitStack() as stack:
            with locked(self.root / "runs.lock"):
                self._sweep()
                path = self._make_directory()
                stack.callback(_remove_run, path)
                stack.enter_context(locked(path / "owner.lock", wait=False))
                run = RunDirectory(path=path, sockets=_make_sockets(path), user=self.user)
                run.own(run.sockets)
                run.own(run.scratch)
            yield run

    def _make_directory(self) -> Path:
        with storage_errors(f'create a directory in "{self.runs}"', self.runs):
            make_passable(self.runs)
            taken = len(os.fsencode(self.runs / ("x" * _RANDOM_LENGTH)))
            path = Path(tempfile.mkdtemp(prefix="_" * (_RUN_LENGTH - taken), dir=self.runs))
            path.chmod(0o755)
            return path

    def _sweep(self) -> None:
        """Remove the run directories whose landspeed is dead, ending their servers first."""
        for path in self.runs.glob("*/"):
            with suppress(BusyError), locked(path / "owner.lock", wait=False):
                _remove_run(path)


def make_passable(path: Path) -> None:
    """Make directory *path*, and those above it that are missing, to be entered by any user.

    A caller's umask of 077 would lock the servers' user out.
    """
    missing = [directory for directory in (path, *path.parents) if not directory.exists()]
    for directory in reversed(missing):
        directory.mkdir(exist_ok=True)
        directory.chmod(0o755)


def _make_sockets(path: Path) -> Path:
    """Make the directory of sockets in *path*, or a link there to one with a shorter name."""
    sockets = path / "s"
    if len(os.fsencode(sockets / _SOCKET_NAME)) > _LONGEST_SOCKET:
        short = Path(tempfile.mkdtemp(prefix=_SHORT_PREFIX, dir=_SHORT_ROOT))
        sockets.symlink_to(short)
        return short
    return sockets


def parts_of(build: Build) -> list[Path]:
    """Return where the server of *build* reads files: its prefix, which may have links, and others.

    What somebody else built may lie in many places.
    """
    external, program = build.external, build.program("postgres")
    own = (build.prefix / "share",)
    places = (external.sharedir, external.pkglibdir, external.libdir) if external else own
    return [program, program.parents[1], *map(Path, places)]


def _runs_for_others(build: Build) -> bool:
    return all(map(reachable_by_others, parts_of(build)))


def _remove_run(path: Path) -> None:
    end_orphan(path / _DATA_LINK)
    group = path / _GROUP_LINK
    if group.is_symlink():
        Cgroup(path=group.readlink()).remove()
    sockets = path / "s"
    if sockets.is_symlink():
        target = sockets.readlink()
        if target.parent == _SHORT_ROOT and target.name.startswith(_SHORT_PREFIX):
            remove_tree(target)
    remove_tree(path)
