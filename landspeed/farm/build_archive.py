"""Archives of builds: written by the job that compiles, unpacked by the jobs that measure."""

from __future__ import annotations

import re
import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from base.build import BUILD_JSON, Build
from base.errors import LandspeedError, UsageError
from base.files import digest_tree, locked, remove_tree, storage_errors
from builders.store import Store
from landspeed.farm.tar import pack_files, unpack_files

_SCRATCH = ".archive-"
_STALE_SECONDS = 3600.0
_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def is_archive(name: str) -> bool:
    """Return whether *name* is the name of an archive."""
    return name.endswith((".tar", ".tar.gz", ".tgz"))


def write_archive(file: Path, build: Build) -> None:
    """Write everything *build* installed to the tar *file*, its BUILD.json last.

    The file is replaced as a whole or not at all.
    """
    prefix = build.prefix
    inside = [path for path in sorted(prefix.rglob("*")) if path.is_symlink() or path.is_file()]
    names = [path.relative_to(prefix).as_posix() for path in inside if path.name != BUILD_JSON]
    pack_files(file, prefix, [*names, BUILD_JSON], head=f"{build.identifier}/")


def register_archive(file: Path, store: Store) -> Build:
    """Put the build in the archive *file* into *store*, unless it is there; return it.

    UsageError if the files are not those that its BUILD.json describes.
    """
    with storage_errors("store a build", store.root):
        store.root.mkdir(parents=True, exist_ok=True)
        _sweep(store.root)
    # In the store's own directory, so that a rename moves it. Without its BUILD.json it is no
    # build yet.
    with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=store.root) as scratch:
        build = _unpacked(file, Path(scratch))
        with locked(store.lock(build.identifier)):
            return store.find(build.identifier) or store.put(build.prefix, build)


def _unpacked(file: Path, scratch: Path) -> Build:
    """Unpack the build in *file* below *scratch*, check it and remove its BUILD.json."""
    unpack_files(file, scratch, _is_inside_a_build)
    inside = sorted(scratch.iterdir())
    if len(inside) != 1:
        raise _rejected(file, f"It holds {len(inside)} builds instead of one.")
    prefix = inside[0]
    try:
        build = Build.load(prefix)
    except LandspeedError as error:
        raise _rejected(file, error.detail) from error
    if build.identifier != prefix.name or build.external is not None:
        why = f"Its {BUILD_JSON} describes {build.identifier} instead of {prefix.name}."
        raise _rejected(file, why)
    (prefix / BUILD_JSON).unlink()
    if digest_tree(prefix) != build.digest:
        raise _rejected(file, f"Its files are not those that its {BUILD_JSON} describes.")
    return replace(build, prefix=prefix)


def _rejected(file: Path, why: str) -> UsageError:
    return UsageError(
        f'"{file}" is not the archive of a build',
        detail=why,
        hint='"landspeed build REF --archive FILE" writes one.',
    )


def _is_inside_a_build(name: str) -> bool:
    return _IDENTIFIER.fullmatch(name.split("/", maxsplit=1)[0]) is not None


def _sweep(root: Path) -> None:
    # A killed process leaves its directory; a running one takes far less time than this.
    oldest = time.time() - _STALE_SECONDS
    for left in root.glob(f"{_SCRATCH}*"):
        with suppress(FileNotFoundError):
            if left.stat().st_mtime < oldest:
                remove_tree(left)
