"""Where results stay when a job is over: on a branch, in an artifact, in a directory of a runner.

Each way fetching adds what is there to ours and pushing adds ours to it; nothing is lost by either.
The branch is landspeed.farm.results_branch.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from base.errors import StorageError
from base.files import locked, write_atomic
from base.paths import Paths
from benchmarks.records.store import RecordStore
from landspeed.farm.artifacts import WHOLE, Artifacts
from landspeed.farm.merge import contents, kept_files, unite, unite_new, unknown
from landspeed.farm.tar import pack_files

# Two runs that end at once each leave all they know: what one of them lacks the other has.
_LATEST = 3


class Home(Protocol):
    """A Home is where results stay for good."""

    def fetch(self) -> int:
        """Merge what is there into our results; how many files were new here."""

    def push(self) -> int:
        """Add to it what our results have and it does not; how many files that were."""

    def unknown_files(self) -> list[str]:
        """The kept files of our results that it, as last fetched, does not have."""


@dataclass(frozen=True, kw_only=True)
class ResultsDirectory:
    """A ResultsDirectory is a ``directory`` that every machine of the farm sees.

    StorageError where it is not: a machine that does not see it must not begin one of its own.
    """

    directory: Path
    paths: Paths

    def fetch(self) -> int:
        """Merge what the directory has into our results; how many files were new here."""
        with self._held():
            return unite_new(self.directory, self.paths.results)

    def push(self) -> int:
        """Add to the directory what only our results have; how many files that were."""
        RecordStore(self.paths.records).seal()
        with self._held():
            unite_new(self.directory, self.paths.results)
            return unite_new(self.paths.results, self.directory)

    def unknown_files(self) -> list[str]:
        """The kept files of our results that the directory does not have."""
        RecordStore(self.paths.records).seal()
        with self._held():
            return unknown(self.paths.results, contents(self.directory))

    @contextmanager
    def _held(self) -> Iterator[None]:
        if not self.directory.is_dir():
            raise StorageError(
                f'the results are kept in "{self.directory}", which is not on this machine',
                hint="Make it once, where every runner of the farm sees it: docs/your-own-farm.md.",
            )
        with locked(self.directory / ".results.lock"):
            yield


@dataclass(frozen=True, kw_only=True)
class ResultsArtifact:
    """A ResultsArtifact is the latest artifact of the farm's runs that has all results.

    What is pushed is written to ``file``, which the workflow uploads.
    """

    artifacts: Callable[[], Artifacts]
    paths: Paths
    file: Path

    def fetch(self) -> int:
        """Merge what the artifact has into our results; how many files were new here."""
        artifacts, known, new = self.artifacts(), dict[str, int](), 0
        for number, one in enumerate(artifacts.whole(_LATEST)):
            with TemporaryDirectory(prefix="landspeed-results-") as scratch:
                artifacts.take(one, Path(scratch))
                # the newest is what the next one is to have all of
                known |= contents(Path(scratch)) if number == 0 else {}
                new += unite(Path(scratch), self.paths.results)
        write_atomic(self._known, json.dumps(known))
        return new

    def push(self) -> int:
        """Write all results to the file if the artifact lacks any of them; how many it lacks."""
        self.fetch()
        missing = self.unknown_files()
        if missing:
            pack_files(self.file, self.paths.results, kept_files(self.paths.results))
        return len(missing)

    def unknown_files(self) -> list[str]:
        """The kept files of our results that the artifact, as last fetched, does not have."""
        RecordStore(self.paths.records).seal()
        known = json.loads(self._known.read_text()) if self._known.exists() else {}
        return unknown(self.paths.results, known)

    @property
    def _known(self) -> Path:
        return self.paths.cache / f"{WHOLE}.json"
