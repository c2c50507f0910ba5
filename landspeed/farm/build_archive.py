"""Builds as archives: made where there is a compiler, put into the store where one measures."""

from __future__ import annotations

import re
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from base.build import BUILD_JSON, Build
from base.errors import LandspeedError, UsageError
from base.files import digest_tree, locked, remove_tree, storage_errors
from builders.store import Store
from landspeed.farm.tar import pack_files, unpack_files

_SCRATCH = ".archive-"
_LEFT_OVER_SECONDS = 3600.0
_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, kw_only=True)
class BuildArchive:
    """An Archive is a Build as one ``file``: all it installed, and the proof of it last."""

    file: Path

    @staticmethod
    def is_one(name: str) -> bool:
        """Whether a file of this *name* is an Archive."""
        return name.endswith((".tar", ".tar.gz", ".tgz"))

    def write(self, build: Build) -> None:
        """Make it hold *build*; it is whole or as it was."""
        prefix = build.prefix
        inside = [path for path in sorted(prefix.rglob("*")) if path.is_symlink() or path.is_file()]
        names = [path.relative_to(prefix).as_posix() for path in inside if path.name != BUILD_JSON]
        pack_files(self.file, prefix, [*names, BUILD_JSON], head=f"{build.identifier}/")

    def register(self, store: Store) -> Build:
        """Put its Build into *store* under its own identifier; what is there already stays.

        UsageError for a file that is not what its proof says it is.
        """
        with storage_errors("store a build", store.root):
            store.root.mkdir(parents=True, exist_ok=True)
            _sweep(store.root)
        # beside its place, so that it gets there by a rename; no Build, for it has no proof there
        with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=store.root) as scratch:
            build = self._unpacked(Path(scratch))
            with locked(store.lock(build.identifier)):
                return store.find(build.identifier) or store.put(build.prefix, build)

    def _unpacked(self, scratch: Path) -> Build:
        """Its Build, unpacked below *scratch* without its proof, and looked at."""
        unpack_files(self.file, scratch, _is_inside_a_build)
        inside = sorted(scratch.iterdir())
        if len(inside) != 1:
            raise self._refused(f"It holds {len(inside)} builds, not one.")
        prefix = inside[0]
        try:
            build = Build.load(prefix)
        except LandspeedError as error:
            raise self._refused(error.detail) from error
        if build.identifier != prefix.name or build.external is not None:
            raise self._refused(f"Its proof is of {build.identifier}, not of {prefix.name}.")
        (prefix / BUILD_JSON).unlink()
        if digest_tree(prefix) != build.digest:
            raise self._refused("Its files are not those that its proof was made of.")
        return replace(build, prefix=prefix)

    def _refused(self, why: str) -> UsageError:
        return UsageError(
            f'"{self.file}" is no archive of a build',
            detail=why,
            hint='"landspeed build REF --archive FILE" makes one.',
        )


def _is_inside_a_build(name: str) -> bool:
    return _IDENTIFIER.fullmatch(name.split("/", maxsplit=1)[0]) is not None


def _sweep(root: Path) -> None:
    # what one left that was killed; a living one is done in far less
    oldest = time.time() - _LEFT_OVER_SECONDS
    for left in root.glob(f"{_SCRATCH}*"):
        with suppress(FileNotFoundError):
            if left.stat().st_mtime < oldest:
                remove_tree(left)
