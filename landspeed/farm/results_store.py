"""Where results stay after a job: on a git branch, in an artifact, or in a directory.

In each of them fetching merges what is there into ours, and pushing merges ours into it. The
branch is in landspeed.farm.results_branch.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from base.errors import StorageError
from base.files import locked, write_atomic
from base.paths import Paths
from benchmarks.records.store import RecordStore
from landspeed.farm.github.artifacts import COMPLETE, Artifacts
from landspeed.farm.merge import contents, merge_new, merge_results, missing_from, result_files
from landspeed.farm.tar import pack_files

# Two runs that end together each upload what they know; the next run merges both.
_LATEST = 3


@dataclass(frozen=True, kw_only=True)
class ResultsDirectory:
    """A directory that every machine of the farm sees.

    StorageError if it does not exist: a machine that cannot see it must not begin one of its own.
    """

    directory: Path
    paths: Paths

    def fetch(self) -> int:
        """Merge what the directory has into our results; return the number of new files."""
        with self._held():
            return merge_new(self.directory, self.paths.results)

    def push(self) -> int:
        """Add what only our results have to the directory; return the number of files."""
        RecordStore(self.paths.records).seal()
        with self._held():
            merge_new(self.directory, self.paths.results)
            return merge_new(self.paths.results, self.directory)

    def missing(self) -> list[str]:
        """Return our files that the directory does not have."""
        RecordStore(self.paths.records).seal()
        with self._held():
            return missing_from(contents(self.directory), self.paths.results)

    @contextmanager
    def _held(self) -> Iterator[None]:
        if not self.directory.is_dir():
            raise StorageError(
                f'the directory of results "{self.directory}" does not exist on this machine',
                hint="Create it once, where every runner of the farm sees it: "
                "docs/your-own-farm.md.",
            )
        with locked(self.directory / ".results.lock"):
            yield


@dataclass(frozen=True, kw_only=True)
class ResultsArtifact:
    """The latest artifact that a run of the farm uploaded with all results.

    ``file``: Where pushing writes all results, for the workflow to upload.
    """

    artifacts: Callable[[], Artifacts]
    paths: Paths
    file: Path

    def fetch(self) -> int:
        """Merge the latest artifacts into our results; return the number of new files."""
        artifacts, known, new = self.artifacts(), dict[str, int](), 0
        for number, one in enumerate(artifacts.complete(_LATEST)):
            with TemporaryDirectory(prefix="landspeed-results-") as scratch:
                artifacts.unpack(one, Path(scratch))
                # What the newest lacks is missing: the next one has to have it.
                known |= contents(Path(scratch)) if number == 0 else {}
                new += merge_results(Path(scratch), self.paths.results)
        write_atomic(self._known, json.dumps(known))
        return new

    def push(self) -> int:
        """Write all results to the file if the artifact lacks any; return how many it lacks."""
        self.fetch()
        missing = self.missing()
        if missing:
            pack_files(self.file, self.paths.results, result_files(self.paths.results))
        return len(missing)

    def missing(self) -> list[str]:
        """Return our files that the artifact, as last fetched, does not have."""
        RecordStore(self.paths.records).seal()
        known = json.loads(self._known.read_text()) if self._known.exists() else {}
        return missing_from(known, self.paths.results)

    @property
    def _known(self) -> Path:
        return self.paths.cache / f"{COMPLETE}.json"
