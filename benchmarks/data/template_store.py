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
from benchmarks.server.cluster import is_ours, is_shut_down
from benchmarks.server.topology import Topology, places

TEMPLATE_JSON = "TEMPLATE.json"


@dataclass(frozen=True, kw_only=True)
class Template:
    """A loaded, vacuumed, frozen and shut-down data directory.

    With a ``topology`` it is one that holds those of all servers. Its ``TEMPLATE.json``, written
    last, is the only proof of it.
    """

    directory: Path
    topology: Topology | None = None

    @property
    def data(self) -> Path:
        """The data directory."""
        return self.directory / "data"

    @property
    def clusters(self) -> tuple[Path, ...]:
        """What servers run on of it."""
        return places(self.topology, self.data)

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
        """Return the disk space that it takes, with its working copy; as its proof says it."""
        data = (self.facts() or {}).get("bytes")
        return (data or tree_bytes(self.data)) + tree_bytes(self.work)

    def is_whole(self) -> bool:
        """Whether it is proven, and nothing that used it in place was killed meanwhile."""
        return self.facts() is not None and all(
            is_ours(place) and is_shut_down(place) for place in self.clusters
        )

    def remove(self) -> None:
        """Remove it, its proof first; one that is in use stays."""
        with suppress(BusyError), locked(self.lock, wait=False):
            (self.directory / TEMPLATE_JSON).unlink(missing_ok=True)
            remove_tree(self.directory)


@dataclass(frozen=True, kw_only=True)
class TemplateStore:
    """The templates of all builds and scales in directory ``root``, which need not exist."""

    root: Path

    def by_last_use(self) -> list[Template]:
        """Return the whole ones, the least recently used first."""
        found = []
        for proof in self.root.glob(f"*/{TEMPLATE_JSON}"):
            # another landspeed may remove it meanwhile
            with suppress(FileNotFoundError):
                found.append((proof.stat().st_mtime, proof.parent))
        return [Template(directory=directory) for _, directory in sorted(found)]

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
                Template(directory=leftover).remove()
        for template in self.by_last_use():
            with suppress(StorageError):
                require_free(place, needed, what)
                if limit is None or self.reclaimable_bytes() + needed <= limit:
                    return
            template.remove()
        require_free(place, needed, what)
