"""The results branch: a git branch that holds the results of all machines and nothing else.

Fetching merges its files into ours, and pushing adds ours to it. Both are unions, so whoever loses
a race fetches what won and pushes again. Nothing is forced, and no file on the branch changes but
the journal of a bisection that was resumed.
"""

from __future__ import annotations

import random
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from base.errors import LandspeedError, RemoteError, UsageError
from base.files import digest_text, locked, write_atomic
from base.paths import Paths
from benchmarks.records.store import RecordStore
from builders.source.git import Git
from landspeed.console.progress import say
from landspeed.farm.merge import (
    RECORDS,
    is_continued,
    is_journal,
    is_result,
    merge_results,
    result_files,
    sound_files,
    wanted_files,
)
from landspeed.farm.remote import Remote

BRANCH = "results"
_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
_TRIES = 8
_BATCH = 64  # files in memory at once
_IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "landspeed"), ("EMAIL", "landspeed@users.noreply.github.com"))
}
_TRANSIENT = re.compile(r"cannot lock ref|failed to lock|returned error: 5\d\d|remote end hung up")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")


@dataclass(frozen=True, kw_only=True)
class ResultsBranch:
    """The results branch of a remote, and a bare repository of what was fetched from it.

    ``pause``: Waits for a number of seconds.
    """

    remote: Remote
    paths: Paths
    name: str = BRANCH
    pause: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or ".." in self.name or self.name.endswith(".lock"):
            raise UsageError(f"{self.name!r} is not a valid branch name")

    def fetch(self) -> int:
        """Merge what the branch has into our results; return the number of new files.

        A branch that does not exist yet has none. RemoteError if the remote does not answer.
        """
        with self._lock():
            return self._take(self._fetched())

    def push(self) -> int:
        """Add what only our results have to the branch; return the number of files.

        It merges the branch into our results first. RemoteError if the remote refuses.
        """
        RecordStore(self.paths.records).seal()
        with self._lock():
            for number in range(_TRIES):
                tip = self._fetched()
                self._take(tip)
                missing = self._missing(tip)
                if not missing:
                    return 0
                try:
                    self._send(self._commit(tip, missing))
                except LandspeedError as error:
                    self._wait_if_transient(error, tip, number)
                    continue
                return len(missing)
        raise RemoteError(
            f"pushing the results failed after {_TRIES} attempts: others pushed each time",
            detail=f'Branch "{self.name}" of {self.remote.shown}.',
            hint="Nothing is lost. Repeat the command.",
        )

    def missing(self) -> list[str]:
        """Return our files that the branch, as last fetched, does not have."""
        RecordStore(self.paths.records).seal()
        known = self._git.peel("commit", self._ref) if self._git.directory.exists() else None
        return self._missing(known)

    @property
    def _git(self) -> Git:
        return Git(directory=self.paths.cache / "results.git")

    @property
    def _ref(self) -> str:
        # One bare repository holds the branches of several remotes.
        return f"refs/landspeed/{digest_text(f'{self.remote.url} {self.name}')[:16]}"

    @contextmanager
    def _lock(self) -> Iterator[None]:
        with locked(self.paths.cache / "results.lock"):
            if not (self._git.directory / "HEAD").exists():
                self._git.run("init", "--quiet", "--bare", "--template=")
            self._git.configure(_CONFIG)
            yield

    def _fetched(self) -> str | None:
        """Fetch the branch and return its tip; None if it does not exist."""
        branch = f"refs/heads/{self.name}"
        try:
            if not self._with_token("ls-remote", self.remote.url, branch):
                self._git.run("update-ref", "-d", self._ref)
                return None
            quiet = ("--quiet", "--no-tags", "--no-write-fetch-head", "--depth=1")
            self._with_token("fetch", *quiet, self.remote.url, f"+{branch}:{self._ref}")
        except LandspeedError as error:
            raise RemoteError(
                f'reading the branch "{self.name}" of {self.remote.shown} failed',
                detail=error.detail or error.message,
                hint="Check --remote (LANDSPEED_RESULTS_REMOTE), and that GITHUB_TOKEN may read "
                "there.",
            ) from error
        return self._git.peel("commit", self._ref)

    def _with_token(self, *arguments: str) -> bytes:
        return self._git.run(*arguments, environment=self.remote.environment())

    def _listed(self, tip: str | None) -> dict[str, str]:
        """Return the blobs of the results at *tip* by their names; other files are not ours."""
        if tip is None:
            return {}
        entries = self._git.run("ls-tree", "-r", "-z", tip).decode(errors="replace")
        found = {}
        for entry in entries.split("\0")[:-1]:
            facts, _, name = entry.partition("\t")
            mode, _, blob = facts.split(" ")
            if mode == "100644" and is_result(name):
                found[name] = blob
        return found

    def _take(self, tip: str | None) -> int:
        results, listed = self.paths.results, self._listed(tip)
        wanted = wanted_files(iter(listed), results)
        taken = 0
        for first in range(0, len(wanted), _BATCH):
            batch = {name: listed[name] for name in wanted[first : first + _BATCH]}
            with self._unpacked(batch) as scratch:
                taken += merge_results(scratch, results, rows=False)
        return taken

    @contextmanager
    def _unpacked(self, blobs: Mapping[str, str]) -> Iterator[Path]:
        """Yield a directory with the files that are *blobs*, by name."""
        asked = "".join(f"{blob}\n" for blob in blobs.values()).encode()
        answer, at = self._git.run("cat-file", "--batch", stdin=asked) if blobs else b"", 0
        with tempfile.TemporaryDirectory(prefix="landspeed-results-") as scratch:
            for name in blobs:
                head, _, _ = answer[at : at + 100].partition(b"\n")
                begin = at + len(head) + 1
                at = begin + int(head.split(b" ")[2]) + 1
                write_atomic(Path(scratch) / name, answer[begin : at - 1])
            yield Path(scratch)

    def _missing(self, tip: str | None) -> list[str]:
        """Return our valid files that *tip* lacks, and the journals that continue those there."""
        listed, results = self._listed(tip), self.paths.results
        ours = sound_files(results, (n for n in result_files(results) if n not in listed))
        both = [name for name in result_files(results) if name in listed and is_journal(name)]
        hashes = self._hashed(both) if both else {}
        changed = {name: listed[name] for name in both if hashes[name] != listed[name]}
        with self._unpacked(changed) as there:
            return [*ours, *(name for name in changed if is_continued(results, there, name))]

    def _hashed(self, names: Sequence[str]) -> dict[str, str]:
        paths = "".join(f"{self.paths.results / name}\n" for name in names)
        blobs = self._git.text("hash-object", "-w", "--no-filters", "--stdin-paths", stdin=paths)
        return dict(zip(names, blobs.split(), strict=True))

    def _commit(self, tip: str | None, names: Sequence[str]) -> str:
        """Return a commit on top of *tip* that adds the files *names*."""
        with tempfile.TemporaryDirectory(prefix="landspeed-index-") as scratch:
            index = {"GIT_INDEX_FILE": f"{scratch}/index"}
            if tip:
                self._git.run("read-tree", tip, environment=index)
            rows = "".join(f"100644 {b}\t{name}\0" for name, b in self._hashed(names).items())
            update = ("update-index", "-z", "--index-info")
            self._git.run(*update, stdin=rows.encode(), environment=index)
            tree = self._git.run("write-tree", environment=index).decode().strip()
        machines = sorted({n.split("/")[2] for n in names if n.startswith(f"{RECORDS}/segments/")})
        of = f" of {', '.join(machines)}" if machines else ""
        message = f"{len(names)} {'file' if len(names) == 1 else 'files'}{of}"
        parents = ("-p", tip) if tip else ()
        argv = ("commit-tree", tree, *parents, "-m", message)
        return self._git.run(*argv, environment=_IDENTITY).decode().strip()

    def _send(self, commit: str) -> None:
        self._with_token("push", "--quiet", self.remote.url, f"{commit}:refs/heads/{self.name}")
        self._git.run("update-ref", self._ref, commit)

    def _wait_if_transient(self, error: LandspeedError, tip: str | None, number: int) -> None:
        """Wait if pushing again may succeed where *error* was raised; else raise RemoteError."""
        reason = error.detail or error.message
        if self._fetched() == tip and not _TRANSIENT.search(reason):
            raise RemoteError(
                f'pushing the results to "{self.name}" of {self.remote.shown} failed',
                detail=reason,
                hint="Check that GITHUB_TOKEN may write contents there, and that no rule protects "
                "the branch. To another repository than the workflow's set LANDSPEED_RESULTS_KEY. "
                "Nothing is lost: repeat the command.",
            ) from error
        say(f"another machine pushed results first: pushing again ({number + 1})")
        # At random, so that two machines which lost one race do not meet in the next.
        self.pause(random.uniform(0.1, 0.5) * 2 ** min(number, 5))  # noqa: S311
