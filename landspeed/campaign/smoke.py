"""What ``landspeed build --check`` does and prints: every Build made to serve, one row each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from base.build import Build
from base.errors import LandspeedError, MeasureError
from benchmarks.clients.pgbench import Pgbench
from benchmarks.smoke import TRIALS, SmokeCheck, trials
from landspeed.console.progress import meter
from landspeed.console.table import rich_table
from landspeed.session.session import Session
from landspeed.session.target import Target

_SHOWN = {True: "ok", False: "FAILED", None: "-"}
# Of these the value seen is worth its room in the table.
_VALUES = ("block_size", "wal_block_size", "segment_size", "read-only", "read-write", "tpcb-like")


@dataclass(frozen=True, kw_only=True)
class SmokeResult:
    """A Verified is one Target, its Build or why there is none, and the Trials it made."""

    target: Target
    build: Build | LandspeedError
    trials: Sequence[SmokeCheck]

    @property
    def ok(self) -> bool:
        """Whether it was built and every Trial went well."""
        return isinstance(self.build, Build) and all(trial.ok for trial in self.trials)

    def facts(self) -> dict[str, Any]:
        """The row as JSON can hold it."""
        built = self.build if isinstance(self.build, Build) else None
        return {
            "target": str(self.target),
            "ok": self.ok,
            "version": str(built.version) if built else None,
            "build": built.identifier if built else None,
            "build_system": built.build_system if built else None,
            "error": None if built else str(self.build),
            "trials": [trial.facts() for trial in self.trials],
        }

    def cells(self) -> list[str]:
        """The row as text: the target, the release, how it was built, and each Trial."""
        untried = [SmokeCheck(name=name, ok=None) for name in TRIALS]
        head = ["-", "FAILED"]
        if isinstance(self.build, Build):
            head = [str(self.build.version), self.build.build_system]
        return [str(self.target), *head, *map(_cell, self.trials or untried)]

    def complaints(self) -> list[str]:
        """What went wrong, in whole."""
        if not isinstance(self.build, Build):
            return [f"{self.target}\n{self.build}"]
        return [f"{self.target} {t.name}\n{t.seen}" for t in self.trials if t.ok is False]


def verify(session: Session, targets: Sequence[Target], jobs: int | None) -> list[SmokeResult]:
    """Build all *targets*, then try each; what fails does not keep the others from being tried."""
    outcomes = session.build_all(targets, jobs=jobs)
    client = session.pgbench_build()
    built = [outcome for outcome in outcomes.values() if isinstance(outcome, Build)]
    rows: list[SmokeResult] = []
    with session.builder.store.in_use([client, *built]), meter("verifying") as shown:
        for number, (target, outcome) in enumerate(outcomes.items()):
            made: Sequence[SmokeCheck] = ()
            if isinstance(outcome, Build):
                shown.update(number / len(outcomes), outcome.label)
                made = trials(
                    build=outcome,
                    pgbench=Pgbench(build=client),
                    machine=session.machine,
                    paths=session.paths,
                )
            rows.append(SmokeResult(target=target, build=outcome, trials=made))
    return rows


def _cell(trial: SmokeCheck) -> str:
    return trial.seen if trial.ok and trial.name in _VALUES else _SHOWN[trial.ok]


def verify_table(rows: Sequence[SmokeResult]) -> Table:
    """Return a table with a line for each of *rows*."""
    titles = ("target", "version", "built by", *TRIALS)
    align = "".join("r" if title in _VALUES else "l" for title in titles)
    return rich_table(titles, (row.cells() for row in rows), align=align)


def verify_failure(rows: Sequence[SmokeResult]) -> LandspeedError | None:
    """The error that a verification ends with; None if every row is ok."""
    failed = [row for row in rows if not row.ok]
    if not failed:
        return None
    return MeasureError(
        f"{len(failed)} of {len(rows)} do not count as servers",
        detail="\n".join(text for row in failed for text in row.complaints()),
    )
