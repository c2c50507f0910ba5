"""The templates in one directory, and how the least recently used make room."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from base.errors import BusyError, StorageError
from base.files import locked, remove_tree, require_free
from benchmarks.machine.copy_tree import tree_bytes

TEMPLATE_JSON = "TEMPLATE.json"


@dataclass(frozen=True, kw_only=True)
class StoredTemplate:
    """The directory of a template, of which nothing is known but its files.

    Its ``TEMPLATE.json``, written last, is the only proof that it was loaded.
    """

    directory: Path

    @property
    def data(self) -> Path:
        """The data directory."""
        return self.directory / "data"

    @property
    def lock(self) -> Path:
        """Its lock file, beside it."""
        return self.directory.with_name(f"{self.directory.name}.lock")

    @property
    def work(self) -> Path:
        """The copy of it that Runs write to, if one was made."""
        return self.directory / "work"

    def facts(self) -> dict[str, Any] | None:
        """Return what its proof says; None if there is none."""
        try:
            facts: dict[str, Any] = json.loads((self.directory / TEMPLATE_JSON).read_text())
        except (OSError, ValueError):
            return None
        return facts

    def disk_bytes(self) -> int:
        """Return the disk space that it takes, with its working copy."""
        # to walk the data of all templates took seconds before each load
        data = (self.facts() or {}).get("bytes")
        return (data or tree_bytes(self.data)) + tree_bytes(self.work)

    def remove(self) -> None:
        """Remove it, its proof first; one that is in use stays."""
        with suppress(BusyError), locked(self.lock, wait=False):
            (self.directory / TEMPLATE_JSON).unlink(missing_ok=True)
            remove_tree(self.directory)


@dataclass(frozen=True, kw_only=True)
class TemplateStore:
    """The templates of all builds and scales in directory ``root``, which need not exist."""

    root: Path

    def by_last_use(self) -> list[StoredTemplate]:
        """Return those that were loaded, the least recently used first."""
        found = []
        for proof in self.root.glob(f"*/{TEMPLATE_JSON}"):
            # another landspeed may remove it meanwhile
            with suppress(FileNotFoundError):
                found.append((proof.stat().st_mtime, proof.parent))
        return [StoredTemplate(directory=directory) for _, directory in sorted(found)]

    def reclaimable_bytes(self) -> int:
        """Return the disk space that removing all of them would free."""
        return sum(template.disk_bytes() for template in self.by_last_use())

    def make_room(self, place: Path, needed: int, what: str, *, limit: int | None = None) -> None:
        """Remove templates, the least recently used first, until *place* has *needed* bytes free.

        With a *limit*, also until all of them and *needed* take no more bytes than that. Those in
        use stay. None is removed for a *place* on another file system. StorageError, naming *what*
        needs the room, if there is too little in the end.
        """
        if not (self.root.exists() and place.stat().st_dev == self.root.stat().st_dev):
            require_free(place, needed, what)
            return
        for leftover in self.root.glob("*/"):
            if not (leftover / TEMPLATE_JSON).exists():
                StoredTemplate(directory=leftover).remove()
        for template in self.by_last_use():
            with suppress(StorageError):
                require_free(place, needed, what)
                if limit is None or self.reclaimable_bytes() + needed <= limit:
                    return
            template.remove()
        require_free(place, needed, what)
