"""The results branch: all results of all machines, on a git branch of their own.

Fetching merges its files into ours, pushing adds ours to it. Both are unions, so whoever loses
a race fetches what won and pushes again; nothing is ever forced, and nothing is ever changed
there but for the Journal of a bisection that has gone on.
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
from landspeed.farm.merge import RECORDS, is_journal, is_kept, kept_files, unite
from landspeed.farm.remote import Remote

BRANCH = "results"
_TRIES = 8
_BATCH = 64  # files held in memory at once
_IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "landspeed"), ("EMAIL", "landspeed@users.noreply.github.com"))
}
_PASSING = re.compile(r"cannot lock ref|failed to lock|returned error: 5\d\d|remote end hung up")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")


@dataclass(frozen=True, kw_only=True)
class ResultsBranch:
    """A ResultsBranch is the branch ``name`` of ``remote``, and a bare repository of what it has.

    ``pause`` waits so many seconds; *say* receives a line for what is worth knowing.
    """

    remote: Remote
    paths: Paths
    say: Callable[[str], None]
    name: str = BRANCH
    pause: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or ".." in self.name or self.name.endswith(".lock"):
            raise UsageError(f"{self.name!r} is not the name of a branch")

    def fetch(self) -> int:
        """Merge what the branch has into our results; how many files were new here.

        RemoteError where the remote does not answer; a branch that is not there yet has nothing.
        """
        with self._lock():
            return self._take(self._fetched())

    def push(self) -> int:
        """Add to the branch what our results have and it does not; how many files that were.

        What it has comes here in the same go. RemoteError if the remote refuses.
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
                    self._require_passing(error, tip, number)
                    continue
                return len(missing)
        raise RemoteError(
            f"the results could not be pushed: {self.remote.shown} moved {_TRIES} times meanwhile",
            hint="Nothing is lost: give the same command again.",
        )

    def unknown_files(self) -> list[str]:
        """The kept files of our results that the branch, as last fetched, does not have."""
        RecordStore(self.paths.records).seal()
        known = self._git.peel(self._ref, "commit") if self._directory.exists() else None
        return self._missing(known)

    # -- the bare repository -----------------------------------------------------------------

    @property
    def _directory(self) -> Path:
        return self.paths.cache / "results.git"

    @property
    def _git(self) -> Git:
        return Git(directory=self._directory)

    @property
    def _ref(self) -> str:
        # one repository may serve the branches of several remotes
        return f"refs/landspeed/{digest_text(f'{self.remote.url} {self.name}')[:16]}"

    @contextmanager
    def _lock(self) -> Iterator[None]:
        with locked(self.paths.cache / "results.lock"):
            if not (self._directory / "HEAD").exists():
                self._git.run("init", "--quiet", "--bare")
            yield

    def _fetched(self) -> str | None:
        """The branch's tip, fetched; None if there is no such branch."""
        there = f"refs/heads/{self.name}"
        try:
            if not self._remotely("ls-remote", self.remote.url, there):
                self._git.run("update-ref", "-d", self._ref)
                return None
            quiet = ("--quiet", "--no-tags", "--no-write-fetch-head", "--depth=1")
            self._remotely("fetch", *quiet, self.remote.url, f"+{there}:{self._ref}")
        except LandspeedError as error:
            raise self._unreachable(error) from error
        return self._git.peel(self._ref, "commit")

    def _remotely(self, *arguments: str) -> bytes:
        return self._git.run(*arguments, environment=self.remote.environment())

    def _unreachable(self, error: LandspeedError) -> RemoteError:
        return RemoteError(
            f'the branch "{self.name}" of {self.remote.shown} could not be read',
            detail=error.detail or error.message,
            hint="Check --remote (LANDSPEED_RESULTS_REMOTE), and that GITHUB_TOKEN may read there.",
        )

    # -- from the branch to us ---------------------------------------------------------------

    def _listed(self, tip: str | None) -> dict[str, str]:
        """The kept files at *tip*, each with its blob; whatever else is there is not ours."""
        if tip is None:
            return {}
        entries = self._git.run("ls-tree", "-r", "-z", tip).decode(errors="replace")
        found = {}
        for entry in entries.split("\0")[:-1]:
            facts, _, name = entry.partition("\t")
            mode, _, blob = facts.split(" ")
            if mode == "100644" and is_kept(name):
                found[name] = blob
        return found

    def _take(self, tip: str | None) -> int:
        results, listed = self.paths.results, self._listed(tip)
        ours = set(kept_files(results))
        wanted = [name for name in listed if name not in ours or is_journal(name)]
        taken = 0
        for first in range(0, len(wanted), _BATCH):
            batch = {name: listed[name] for name in wanted[first : first + _BATCH]}
            with tempfile.TemporaryDirectory(prefix="landspeed-results-") as scratch:
                for name, content in self._contents(batch):
                    write_atomic(Path(scratch) / name, content)
                taken += unite(Path(scratch), results)
        return taken

    def _contents(self, blobs: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
        asked = "".join(f"{blob}\n" for blob in blobs.values()).encode()
        answer, at = self._git.run("cat-file", "--batch", stdin=asked), 0
        for name in blobs:
            head, _, _ = answer[at : at + 100].partition(b"\n")
            begin = at + len(head) + 1
            size = int(head.split(b" ")[2])
            yield name, answer[begin : begin + size]
            at = begin + size + 1

    # -- from us to the branch ---------------------------------------------------------------

    def _missing(self, tip: str | None) -> list[str]:
        """Our kept files that *tip* does not have, or has as they were once."""
        listed = self._listed(tip)
        ours = list(kept_files(self.paths.results))
        same = set(listed) - {name for name in ours if is_journal(name)}
        changed = [name for name in ours if name in listed and is_journal(name)]
        hashes = self._hashed(changed) if changed else {}
        return [
            name for name in ours if name not in same and hashes.get(name) != listed.get(name, "")
        ]

    def _hashed(self, names: Sequence[str]) -> dict[str, str]:
        paths = "".join(f"{self.paths.results / name}\n" for name in names)
        blobs = self._git.text("hash-object", "-w", "--no-filters", "--stdin-paths", stdin=paths)
        return dict(zip(names, blobs.split(), strict=True))

    def _commit(self, tip: str | None, names: Sequence[str]) -> str:
        """A commit on top of *tip* that adds the files called *names*."""
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
        self._remotely("push", "--quiet", self.remote.url, f"{commit}:refs/heads/{self.name}")
        self._git.run("update-ref", self._ref, commit)

    def _require_passing(self, error: LandspeedError, tip: str | None, number: int) -> None:
        """Wait a little if *error* will not come again; else RemoteError."""
        said = error.detail or error.message
        if self._fetched() == tip and not _PASSING.search(said):
            raise RemoteError(
                f'the results could not be pushed to "{self.name}" of {self.remote.shown}',
                detail=said,
                hint="Check that GITHUB_TOKEN may write contents there, and that the branch is "
                "not protected. Nothing is lost: give the same command again.",
            ) from error
        self.say(f"somebody else pushed results meanwhile: trying again ({number + 1})")
        # two that lost the same race must not meet again
        self.pause(random.uniform(0.1, 0.5) * 2 ** min(number, 5))  # noqa: S311
