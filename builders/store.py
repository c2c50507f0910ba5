"""The store of builds: one directory for each identity, the least recently used removed first."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from base.build import BUILD_JSON, Build
from base.errors import BusyError, StorageError, UsageError
from base.files import (
    canonical_json,
    files_below,
    locked,
    remove_tree,
    storage_errors,
    write_atomic,
)

_DEFAULT_LIMIT_GB = 20.0


@dataclass(frozen=True, kw_only=True)
class Store:
    """Builds under their identifiers; ``limit`` is the size of the store in bytes."""

    root: Path
    limit: int

    def lock(self, identifier: str) -> Path:
        """Return the lock file of one identity: held to build it, shared to use it."""
        return self.root / ".locks" / identifier

    def find(self, identifier: str) -> Build | None:
        """Return the build called *identifier*, marked as just used, or None."""
        prefix = self.root / identifier
        try:
            build = Build.load(prefix)
        except StorageError:
            return None
        # a read-only store can be used, only its order of use is not kept
        with suppress(OSError):
            os.utime(prefix / BUILD_JSON)
        return build

    def all(self) -> list[Build]:
        """Return every whole build, by identifier."""
        return builds_below(self.root)

    def put(self, installed: Path, build: Build) -> Build:
        """Move *installed* into the store as *build*, proof last; return the stored Build.

        The caller holds the identity's lock.
        """
        prefix = self.root / build.identifier
        with storage_errors("store a build", prefix):
            self.root.mkdir(parents=True, exist_ok=True)
            remove_tree(prefix)
            shutil.move(installed, prefix)
            write_atomic(prefix / BUILD_JSON, canonical_json(build.facts()) + "\n")
        return Build.load(prefix)

    @contextmanager
    def in_use(self, builds: list[Build]) -> Iterator[None]:
        """Keep *builds* from being removed while they are measured."""
        with ExitStack() as stack:
            for identifier in sorted({b.identifier for b in builds}):
                stack.enter_context(locked(self.lock(identifier), shared=True))
            yield

    def trim(self, keep: set[str]) -> list[str]:
        """Remove least recently used builds until the limit holds; return their identifiers.

        Builds that are in use or in *keep* stay.
        """
        # one at a time: two would each make all the room
        with locked(self.lock("trim")):
            return self._trim_locked(keep)

    def _trim_locked(self, keep: set[str]) -> list[str]:
        self._remove_remnants()
        shelf = sorted(self._shelf())
        total = sum(size for _, _, size in shelf)
        removed = []
        for _, identifier, size in shelf:
            if total <= self.limit:
                break
            if identifier not in keep and self._remove(identifier):
                total -= size
                removed.append(identifier)
        return removed

    def _shelf(self) -> Iterator[tuple[float, str, int]]:
        """When each Build was last used, its identifier, its size in bytes."""
        for proof in self.root.glob(f"*/{BUILD_JSON}"):
            # another landspeed may be storing the same again
            with suppress(FileNotFoundError):
                yield proof.stat().st_mtime, proof.parent.name, _size(proof.parent)

    def _remove(self, identifier: str) -> bool:
        try:
            with locked(self.lock(identifier), wait=False):
                # the proof goes first: a removal that is interrupted leaves no Build
                (self.root / identifier / BUILD_JSON).unlink(missing_ok=True)
                remove_tree(self.root / identifier)
        except BusyError:
            return False
        return True

    def _remove_remnants(self) -> None:
        # what a kill -9 while storing or removing left: no Build, but room it takes
        for directory in self.root.glob("[!.]*/"):
            proof = directory / BUILD_JSON
            if proof.exists():
                continue
            with suppress(BusyError), locked(self.lock(directory.name), wait=False):
                if not proof.exists():
                    remove_tree(directory)


def builds_below(root: Path) -> list[Build]:
    """Return the builds in the directories of *root*, by name, without damaged ones."""
    builds = []
    for proof in sorted(root.glob(f"*/{BUILD_JSON}")):
        with suppress(StorageError):
            builds.append(Build.load(proof.parent))
    return builds


def limit_from_environment() -> int:
    """Return the store's size limit in bytes: $LANDSPEED_STORE_LIMIT in GB, else 20 GB.

    UsageError for what is no size.
    """
    text = os.environ.get("LANDSPEED_STORE_LIMIT")
    try:
        gigabytes = float(text) if text else _DEFAULT_LIMIT_GB
    except ValueError:
        gigabytes = -1.0
    if not (isfinite(gigabytes) and gigabytes >= 0):
        raise UsageError(
            f'invalid LANDSPEED_STORE_LIMIT: "{text}"', hint="Give a number of gigabytes, like 20."
        )
    return int(gigabytes * 1e9)


def _size(directory: Path) -> int:
    return sum(path.lstat().st_size for path in files_below(directory))
