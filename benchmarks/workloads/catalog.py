"""The catalog of workloads: one stanza in a family's TOML file and one SQL file for each.

A workload guards one part of PostgreSQL. Its SQL is a script in pgbench's language: one execution
of the script is what is counted or timed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Self

from base.errors import UsageError
from base.files import digest_text
from base.version import Version, VersionRange
from benchmarks.workloads.protocol import Protocol

FAMILIES = (
    *("pgbench", "statements", "expressions", "scans", "joins"),
    *("planner", "writing", "utility", "connections"),
)
CATALOG = "catalog"
"""What the record of a counted workload says in place of a preset."""

PGBENCH = "pgbench"
"""The dataset that pgbench itself loads, at any scale."""

DATASETS_SIZE = 20.0
"""The disk space of all datasets, in units of pgbench's scale: 300 MB."""

WORKER, STARTUP, WALSENDER = "worker", "startup", "walsender"
PROCESSES = {
    WORKER: "ParallelWorkerMain",
    STARTUP: "StartupXLOG",
    WALSENDER: "exec_replication_command",
}
"""Processes that a workload can be counted in, with the function that only such a one executes.

A parallel worker is counted with its session; the others handle what sessions have changed before.
"""

SUITES = ("small", "standard", "all")
"""Each suite contains the ones before it; one that is timed only is in none."""

_HERE = Path(__file__).parent
_SQL = _HERE / "sql"


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """Tables that workloads of a family share, in SQL that every version of ``range`` knows."""

    name: str
    title: str
    sql: str
    range: VersionRange

    @classmethod
    def parse(cls, row: dict[str, Any]) -> Self:
        """Return the dataset of a row of datasets.toml."""
        path = _SQL / "datasets" / f"{row.get('file', row['name'])}.sql"
        return cls(name=row["name"], title=row["title"], sql=path.read_text(), range=_range_of(row))


@dataclass(frozen=True, kw_only=True)
class Workload:
    """One entry of the catalog.

    ``script`` is executed once per transaction. ``session`` are statements that begin a session,
    ``before`` those that restore the tables before each series of executions.
    ``lengths`` are the numbers of executions in a short and in a long series; their difference is
    what is counted. ``guards`` says which part of PostgreSQL would show in it. Where it
    ``connects``, each execution is a session of its own, of ``role``. ``settings`` are those that
    its server needs. With ``own_servers`` each series has a server of its own, on the same data:
    what an execution costs depends on those before it. ``clients`` is the number of clients that
    it is made for, None for any; one that is made for several is timed only. ``process`` is the one
    of PROCESSES that it is counted in, where that is not the session's backend alone.
    """

    name: str
    family: str
    title: str
    guards: str
    dataset: str
    script: str
    protocol: Protocol
    range: VersionRange
    session: tuple[str, ...]
    before: tuple[str, ...]
    lengths: tuple[int, int]
    writes: bool
    suite: str
    connects: bool = False
    role: str = "postgres"
    settings: tuple[tuple[str, str], ...] = ()
    own_servers: bool = False
    clients: int | None = None
    process: str = ""

    @classmethod
    def parse(cls, family: str, row: dict[str, Any]) -> Self:
        """Return the workload of a row of *family*'s TOML file."""
        path = _SQL / family / f"{row.get('file', row['name'])}.sql"
        # one that is timed only has none
        short, long = row.get("lengths", (1, 2))
        process = row.get("process", "")
        where = "with its parallel workers" if process == WORKER else f"in the {process} process"
        told = f"; counted {where} ({PROCESSES[process]})" if process else ""
        return cls(
            name=row["name"],
            family=family,
            title=row["title"],
            guards=row["guards"] + told,
            dataset=row["dataset"],
            script=path.read_text(),
            protocol=Protocol(row.get("protocol", Protocol.PREPARED)),
            range=_range_of(row),
            session=tuple(row.get("session", ())),
            before=tuple(row.get("before", ())),
            lengths=(short, long),
            # what restores tables before a series writes too
            writes=row.get("writes", "before" in row),
            suite=row.get("suite", "all"),
            connects=row.get("connects", False),
            role=row.get("role", "postgres"),
            settings=tuple(row.get("settings", {}).items()),
            own_servers=row.get("own_servers", process in (STARTUP, WALSENDER)),
            clients=row.get("clients"),
            process=process,
        )

    @property
    def value(self) -> str:
        """What records and points call it."""
        return self.name

    def __str__(self) -> str:
        return self.name

    @property
    def size(self) -> float:
        """How many times as large as pgbench's own its tables are."""
        return DATASETS_SIZE

    @property
    def data(self) -> str:
        """What tells its tables from those of modes that are not in the catalog."""
        return CATALOG

    @property
    def timed_only(self) -> bool:
        """Whether it needs several clients, so that its instructions cannot be counted."""
        return self.clients is not None and self.clients > 1

    @property
    def is_handled_later(self) -> bool:
        """Whether the process that is counted handles what sessions have changed before."""
        return self.process in (STARTUP, WALSENDER)

    @property
    def is_whole_processes(self) -> bool:
        """Whether whole processes are counted; what they write and read is not known."""
        return self.connects or self.is_handled_later

    def facts(self) -> dict[str, Any]:
        """Return the workload as JSON can hold it."""
        return {
            "name": self.name,
            "family": self.family,
            "title": self.title,
            "guards": self.guards,
            "dataset": self.dataset,
            "protocol": self.protocol.value,
            "versions": str(self.range),
            "suite": self.suite,
            **({"clients": self.clients} if self.clients else {}),
            **({"process": self.process} if self.process else {}),
        }

    def digest(self, version: Version) -> str:
        """Return a digest of all that decides what is counted: SQL, dataset, series."""
        dataset = dataset_for(self.dataset, version)
        return self._digest(dataset.sql if dataset else "")

    @property
    def digests(self) -> frozenset[str]:
        """Its digests on all versions, which differ in how they spell the dataset."""
        spelled = [one.sql for one in _datasets() if one.name == self.dataset]
        return frozenset(map(self._digest, spelled or [""]))

    def _digest(self, dataset: str) -> str:
        told = [
            self.script,
            *self.session,
            *self.before,
            self.protocol.value,
            *map(str, self.lengths),
            *([self.role] if self.connects else []),
            *(["own servers"] if self.own_servers else []),
            *([self.process] if self.process else []),
            *(f"{name} = {value}" for name, value in self.settings),
        ]
        return digest_text("\n".join([*told, dataset]))[:10]

    def runs_on(self, version: Version) -> bool:
        """Return whether servers of *version* understand the workload and its dataset."""
        known = self.dataset == PGBENCH or dataset_for(self.dataset, version) is not None
        return version in self.range and known


@cache
def workloads() -> tuple[Workload, ...]:
    """Return all workloads, family by family."""
    return tuple(
        Workload.parse(family, row) for family in FAMILIES for row in _rows(family, "workload")
    )


def named(name: str) -> Workload:
    """Return the workload called *name*; KeyError if there is none."""
    return {one.name: one for one in workloads()}[name]


def choose(patterns: Sequence[str], suite: str | None = None) -> list[Workload]:
    """Return the workloads whose names match one of *patterns* (``copy-*``), or those of *suite*.

    UsageError for a pattern that matches none.
    """
    if suite is not None and suite not in SUITES:
        raise UsageError(f'suite "{suite}" does not exist', hint=f"There are {', '.join(SUITES)}.")
    chosen = {
        one.name
        for one in workloads()
        if suite is not None and not one.timed_only
        if SUITES.index(one.suite) <= SUITES.index(suite)
    }
    for pattern in patterns:
        matched = {one.name for one in workloads() if fnmatchcase(one.name, pattern)}
        if not matched:
            raise UsageError(
                f'no workload is called "{pattern}"',
                hint='"landspeed list --workloads" shows all; * stands for any letters.',
            )
        chosen |= matched
    return [one for one in workloads() if one.name in chosen]


def dataset_for(name: str, version: Version) -> Dataset | None:
    """Return the dataset called *name* as *version* spells it; None if it has no such thing."""
    return next((one for one in _datasets() if one.name == name and version in one.range), None)


def dataset_names() -> Iterable[str]:
    """Return the names of all datasets."""
    return dict.fromkeys(one.name for one in _datasets())


def dataset_texts() -> list[str]:
    """Return the SQL of all datasets in all spellings."""
    return [one.sql for one in _datasets()]


@cache
def _datasets() -> tuple[Dataset, ...]:
    return tuple(Dataset.parse(row) for row in _rows("datasets", "dataset"))


def _rows(name: str, kind: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = tomllib.loads((_HERE / f"{name}.toml").read_text())[kind]
    return rows


def _range_of(row: dict[str, Any]) -> VersionRange:
    return VersionRange.parse(since=row.get("since"), until=row.get("until"))
