"""Scripts: what a transaction does where it is none of pgbench's own, told by its files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from base.errors import UsageError
from base.files import canonical_json, digest_text

_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_DIGITS = 8


@dataclass(frozen=True, kw_only=True)
class Script:
    """A mode made of pgbench script files, which are chosen at random by weight.

    ``parts`` are their texts with their weights; ``load`` is SQL that is executed when
    pgbench's tables are loaded, before they are vacuumed. ``writes`` says that they change data.
    ``size`` is how many times as large as pgbench's the tables are then. ``distribute`` is the SQL
    by which a coordinator gives them to its workers (see Topology), where there are any.
    """

    name: str
    parts: tuple[tuple[str, int], ...]
    load: str = ""
    writes: bool = True
    size: float = 1.0
    distribute: str = ""

    @property
    def value(self) -> str:
        """What records and points call it: its name, and a digest of all that it does."""
        told = [self.load, self.distribute] if self.distribute else [self.load]
        content = canonical_json([list(map(list, self.parts)), *told])
        return f"{self.name}-{digest_text(content)[:_DIGITS]}"

    @property
    def data(self) -> str:
        """What tells its tables from those of other modes at the same scale."""
        return self.load

    def __str__(self) -> str:
        return self.value

    @classmethod
    def read(
        cls,
        name: str,
        files: list[tuple[Path, int]],
        *,
        load: Path | None,
        writes: bool,
        size: float,
        distribute: Path | None = None,
    ) -> Script:
        """The Script that these *files*, with their weights, hold; UsageError if it is none."""
        if not _NAME.fullmatch(name):
            raise UsageError(
                f'"{name}" is not the name of a script',
                hint="It has small letters and digits, and single dashes between them.",
            )
        if not files:
            raise UsageError(f'script "{name}" has no files')
        return cls(
            name=name,
            parts=tuple((_text(path), weight) for path, weight in files),
            load=_text(load) if load else "",
            writes=writes,
            size=size,
            distribute=_text(distribute) if distribute else "",
        )


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f'could not read script "{path}"', detail=str(error)) from error
