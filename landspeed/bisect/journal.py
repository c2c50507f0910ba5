"""The Journal: what a bisection has seen, event by event, in one file that survives a kill.

Events are only ever appended and the file is written anew, atomically, after each. All that a
bisection thinks is computed from them, so whoever has the file goes on where it ends.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from base.errors import StorageError
from base.files import canonical_json, digest_text, locked, write_atomic

_SCHEMA = 1


@dataclass(kw_only=True)
class Journal:
    """A Journal is a bisection's file: the ``inputs`` that identify it, and its ``events``."""

    path: Path
    inputs: Mapping[str, Any]
    events: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def open(
        cls, directory: Path, stem: str, inputs: Mapping[str, Any], *, fresh: bool = False
    ) -> Self:
        """The newest Journal of *inputs* in *directory*, or a new one; with *fresh* a new one.

        *stem* is the readable head of its name. StorageError for one that is damaged.
        """
        name = _name(stem, inputs)
        numbered = re.compile(rf"{re.escape(name)}-(\d+)\.json")
        numbers = [int(m[1]) for p in directory.glob("*") if (m := numbered.fullmatch(p.name))]
        newest = max(numbers, default=0)
        if fresh or not newest:
            return cls(path=directory / f"{name}-{newest + 1}.json", inputs=inputs)
        path = directory / f"{name}-{newest}.json"
        return cls(path=path, inputs=inputs, events=_events(path))

    def add(self, event: str, **facts: Any) -> None:
        """Append an event; it is on disk when this returns."""
        self.events.append({"event": event, **facts})
        whole = {"schema": _SCHEMA, "inputs": dict(self.inputs), "events": self.events}
        write_atomic(self.path, json.dumps(whole, indent=1, ensure_ascii=False) + "\n")

    def of(self, event: str) -> list[dict[str, Any]]:
        """The events of one kind, in their order."""
        return [one for one in self.events if one["event"] == event]


@contextmanager
def taken(directory: Path, stem: str, inputs: Mapping[str, Any]) -> Iterator[None]:
    """Have the Journals of *inputs* to ourselves; BusyError naming the process that has them."""
    lock = directory / f".{_name(stem, inputs)}.lock"
    with locked(lock, wait=False, busy="another landspeed is at this very bisection"):
        yield


def _name(stem: str, inputs: Mapping[str, Any]) -> str:
    return f"{stem}-{digest_text(canonical_json(inputs))[:8]}"


def elsewhere(journal: Journal) -> list[str]:
    """The machines, or former epochs of this one, that have a Journal of the same question."""
    places = ("machine", "epoch")
    asked = {name: value for name, value in journal.inputs.items() if name not in places}
    found = []
    for path in sorted(journal.path.parent.glob("*.json")):
        try:
            inputs = json.loads(path.read_text())["inputs"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        rest = {name: value for name, value in inputs.items() if name not in places}
        if rest == asked and inputs["machine"] != journal.inputs["machine"]:
            found.append(f"machine {inputs['machine']}")
        elif rest == asked and inputs["epoch"] != journal.inputs["epoch"]:
            found.append("this machine before its kernel or processor changed")
    return list(dict.fromkeys(found))


def _events(path: Path) -> list[dict[str, Any]]:
    try:
        whole = json.loads(path.read_text())
        if whole["schema"] != _SCHEMA:
            raise ValueError(f"schema {whole['schema']}")
        return [dict(event) for event in whole["events"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StorageError(
            f'could not read the state of this bisection, "{path}"',
            detail=repr(error),
            hint="Begin it anew with --fresh; its runs are in the records and are used again.",
        ) from error
