"""The git program, run on one repository with no settings but those that we wrote into it."""

from __future__ import annotations

import io
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import IO

from base.errors import LandspeedError, SourceError, StorageError, last_lines
from base.files import write_atomic

# What "git rev-parse --local-env-vars" lists: set by hooks and by git itself, they would
# point our git at somebody else's repository.
_LOCAL = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"),
    *("GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_PREFIX"),
    *("GIT_CONFIG_COUNT", "GIT_NAMESPACE", "GIT_GRAFT_FILE", "GIT_REPLACE_REF_BASE"),
    *("GIT_SHALLOW_FILE", "GIT_IMPLICIT_WORK_TREE", "GIT_DEFAULT_HASH"),
)
# No file of a user or of this machine configures git, no hook runs, no command is a transport:
# measured code can write any of them, and some calls have a token in their environment.
_SEALED = {
    **{"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull},
    **{"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
}
_SEALED_OPTIONS = ("-c", "core.hooksPath=/dev/null", "-c", "protocol.ext.allow=never")
# A server that sends less than a byte a second for ten minutes is given up: git-config(1).
_PATIENCE = ("-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=600")
# They lead git to a configuration that `Git.configure` did not write.
_DETOURS = ("commondir", "config.worktree")
_DISK = ("No space left on device", "Read-only file system", "Permission denied", "quota exceeded")
# Keeps git from fetching what a partial clone lacks.
NO_LAZY_FETCH = {"GIT_NO_LAZY_FETCH": "1"}
# What git says last where it was another machine that refused, such as ssh a key.
_REMOTE = "Could not read from remote repository"
# Nothing that git does to refs takes so long: an older lock is one of a git that was killed.
LOCK_SECONDS = 600.0
_LOCKED = re.compile(r"Unable to create '.*\.lock': File exists")
# The clone that the repository borrows objects from is gone.
_NO_LENDER = "unable to normalize alternate object path"
_LENDER_HINT = "Put the clone back, or set [sources.git] upstream to where it is now."


@dataclass(frozen=True, kw_only=True)
class Git:
    """The git commands of the repository at ``directory``; failures are SourceErrors.

    Everything that came from a user must reach them as a full ref name, a hash, or behind
    ``--end-of-options``: they do not guess which argument is which.
    """

    directory: Path

    def configure(self, text: str, files: Mapping[str, str] = MappingProxyType({})) -> None:
        """Make *text* the repository's configuration; *files* are written beside it."""
        for name in _DETOURS:
            (self.directory / name).unlink(missing_ok=True)
        for name, wanted in {"config": text, **files}.items():
            path = self.directory / name
            if not path.is_file() or path.is_symlink() or path.read_text() != wanted:
                write_atomic(path, wanted)

    def run(
        self, *arguments: str, stdin: bytes = b"", environment: Mapping[str, str] | None = None
    ) -> bytes:
        """Return the standard output of ``git *arguments``."""
        done = self._done(arguments, stdin=stdin, environment=environment)
        if done.returncode:
            raise self._failure(arguments, done.stderr)
        return done.stdout

    def text(self, *arguments: str, stdin: str = "") -> str:
        """Return the standard output of ``git *arguments`` as stripped text."""
        return self.run(*arguments, stdin=stdin.encode()).decode(errors="replace").strip()

    def answer(self, *arguments: str) -> str | None:
        """Return the standard output of ``git *arguments``; None if git says no, by exit code 1."""
        done = self._done(arguments)
        if done.returncode not in (0, 1):
            raise self._failure(arguments, done.stderr)
        return None if done.returncode else done.stdout.decode(errors="replace")

    def test(self, *arguments: str) -> bool:
        """Return whether ``git *arguments`` ends with 0."""
        return self.answer(*arguments) is not None

    def failure(self, *arguments: str, environment: Mapping[str, str]) -> str | None:
        """Return what ``git *arguments`` said if it failed; None if it did not."""
        done = self._done(arguments, environment=environment)
        return done.stderr.decode(errors="replace").strip() if done.returncode else None

    def peel(self, kind: str, *names: str) -> str | None:
        """Return the hash of the first object of *kind* that *names* lead to, or None."""
        asked = "".join(f"{name}^{{{kind}}}\n" for name in names)
        ask = ("cat-file", "--batch-check=%(objectname) %(objecttype)")
        done = self._done(ask, stdin=asked.encode(), environment=NO_LAZY_FETCH)
        for line in done.stdout.decode().splitlines():
            found, _, what = line.rpartition(" ")
            if what == kind:
                return found
        return None

    def read(self, kind: str, name: str) -> bytes | None:
        """Return the content of the object of *kind* called *name*, such as TREE:PATH, or None."""
        answer = self.run("cat-file", "--batch=%(objecttype)", stdin=f"{name}\n".encode())
        head, _, content = answer.partition(b"\n")
        return content[:-1] if head == kind.encode() else None

    def _done(
        self,
        arguments: tuple[str, ...],
        *,
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        with _started():
            return subprocess.run(
                self._argv(arguments),
                input=stdin,
                capture_output=True,
                check=False,
                env=self._environment(environment),
            )

    @contextmanager
    def scratch_index(self, directory: Path) -> Iterator[dict[str, str]]:
        """Yield the environment of commands that write to *directory*, with an index of its own."""
        with tempfile.TemporaryDirectory(prefix="landspeed-index-") as scratch:
            yield {
                "GIT_WORK_TREE": str(directory.absolute()),
                "GIT_INDEX_FILE": str(Path(scratch, "index").absolute()),
            }

    @contextmanager
    def feed(self, *arguments: str) -> Iterator[IO[bytes]]:
        """Run ``git *arguments`` on what the block writes to the stream; kill it if that raises."""
        with _started():
            process = subprocess.Popen(
                self._argv(arguments),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=self._environment(None),
            )
        stream = process.stdin or io.BytesIO()  # it is a pipe; the type does not know
        try:
            yield stream
        except BrokenPipeError:
            pass  # git died first: what it said is the better error
        except BaseException:
            process.kill()
            process.communicate()
            raise
        _, stderr = process.communicate()
        if process.returncode:
            raise self._failure(arguments, stderr)

    def _argv(self, arguments: tuple[str, ...]) -> list[str]:
        return ["git", *_SEALED_OPTIONS, *_PATIENCE, f"--git-dir={self.directory}", *arguments]

    @staticmethod
    def _environment(more: Mapping[str, str] | None) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in _LOCAL}
        return kept | _SEALED | dict(more or {})

    def _failure(self, arguments: tuple[str, ...], stderr: bytes) -> LandspeedError:
        said = stderr.decode(errors="replace").strip()
        last = last_lines(said, 5) or "It said nothing."
        if _REMOTE not in said and any(words in said for words in _DISK):
            return StorageError(
                f'could not write the source repository "{self.directory}"',
                detail=last,
                hint="Make room or make it writable, or set LANDSPEED_CACHE.",
            )
        hint = _LENDER_HINT if _NO_LENDER in said else ""
        if locked := _LOCKED.search(said):
            # git's own advice is longer, and comes after the name of the file
            last = locked[0]
            hint = (
                "Wait until no other git runs there. What a git that was killed left is removed "
                f"{LOCK_SECONDS / 60:.0f} minutes later."
            )
        return SourceError(f"git {arguments[0]} failed in {self.directory}", detail=last, hint=hint)


@contextmanager
def _started() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise SourceError(
            "git is not installed", detail=str(error), hint='Install it: "apt-get install git".'
        ) from error
