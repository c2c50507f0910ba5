"""Scripts: what a transaction does where it is none of pgbench's own, told by its files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from base.errors import UsageError
from base.files import canonical_json, digest_text
from base.version import VersionRange
from benchmarks.workloads.catalog import PGBENCH, Workload
from benchmarks.workloads.protocol import Protocol

_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_DIGITS = 8
_MOST_LETTERS = 100  # other files are named after a script, with more words


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

    def workload(self, protocol: Protocol, lengths: tuple[int, int]) -> Workload:
        """Return the workload that is counted in series of *lengths* executions."""
        ((text, _),) = self.parts
        return Workload(
            name=self.value,
            family="",
            title=self.name,
            guards="",
            dataset=PGBENCH,
            # pgbench takes a last statement without its semicolon, but more follows here
            script=f"{text}\n;\n",
            protocol=protocol,
            range=VersionRange(),
            session=(),
            before=(),
            lengths=lengths,
            writes=self.writes,
            suite="",
        )

    @classmethod
    def of_file(cls, path: Path, load: Path | None) -> Script:
        """Return the script in the file at *path*, which is named after the start of its name.

        UsageError if it, or the SQL in the file *load*, cannot be read or is empty.
        """
        words = re.findall(r"[a-z0-9]+", path.stem.lower())
        name = "-".join(words if words and words[0][0].isalpha() else ["script", *words])
        name = name[:_MOST_LETTERS].rstrip("-")
        return cls.read(name, [(path, 1)], load=load, writes=True, size=1.0)

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
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f'could not read script "{path}"', detail=str(error.strerror)) from error
    except UnicodeDecodeError as error:
        raise UsageError(f'script "{path}" is not UTF-8', detail=str(error)) from error
    if not text.strip():
        raise UsageError(f'script "{path}" is empty')
    if "\0" in text:
        raise UsageError(f'script "{path}" is not text', detail="It has a byte of zero.")
    return text
