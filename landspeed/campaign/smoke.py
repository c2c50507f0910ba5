"""Build targets and check that each server starts, answers and runs every mode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from base.build import Build
from base.errors import LandspeedError, some_failed
from benchmarks.clients.pgbench import Pgbench
from benchmarks.smoke import SMOKE_CHECKS, SmokeCheck, smoke_checks
from landspeed.console.progress import meter
from landspeed.console.table import rich_table
from landspeed.session.session import Session
from landspeed.session.target import Target

_SHOWN = {True: "ok", False: "FAILED", None: "-"}
# The table shows what these checks saw, not just their outcome.
_VALUES = ("block_size", "wal_block_size", "segment_size", "read-only", "read-write", "tpcb-like")


@dataclass(frozen=True, kw_only=True)
class SmokeResult:
    """One target, its build or the error of building it, and the checks that the build ran."""

    target: Target
    build: Build | LandspeedError
    checks: Sequence[SmokeCheck]

    @property
    def ok(self) -> bool:
        """Whether the target was built and passed every check."""
        return isinstance(self.build, Build) and all(check.ok for check in self.checks)

    def facts(self) -> dict[str, Any]:
        """Return the result as JSON can hold it."""
        built = self.build if isinstance(self.build, Build) else None
        return {
            "target": str(self.target),
            "ok": self.ok,
            "version": str(built.version) if built else None,
            "build": built.identifier if built else None,
            "build_system": built.build_system if built else None,
            "error": None if built else str(self.build),
            "trials": [check.facts() for check in self.checks],
        }

    def cells(self) -> list[str]:
        """Return the result as a row of the table."""
        head = ["-", "FAILED"]
        if isinstance(self.build, Build):
            head = [str(self.build.version), self.build.build_system]
        checks = self.checks or [SmokeCheck(name=name, ok=None) for name in SMOKE_CHECKS]
        shown = (c.seen if c.ok and c.name in _VALUES else _SHOWN[c.ok] for c in checks)
        return [str(self.target), *head, *shown]

    def failure(self) -> str:
        """Return everything that went wrong, as text."""
        if not isinstance(self.build, Build):
            return f"{self.target}\n{self.build}"
        failed = (c for c in self.checks if c.ok is False)
        return "\n".join(f"{self.target} {c.name}\n{c.seen}" for c in failed)


def check_builds(
    session: Session, targets: Sequence[Target], jobs: int | None
) -> list[SmokeResult]:
    """Build all *targets*, *jobs* at a time, and check each; go on after failures."""
    outcomes = session.build_all(targets, jobs=jobs)
    client = session.pgbench_build()
    built = [outcome for outcome in outcomes.values() if isinstance(outcome, Build)]
    results: list[SmokeResult] = []
    with session.builder.store.in_use([client, *built]), meter("checking") as shown:
        for number, (target, outcome) in enumerate(outcomes.items()):
            checks: Sequence[SmokeCheck] = ()
            if isinstance(outcome, Build):
                shown.update(number / len(outcomes), outcome.label)
                checks = smoke_checks(
                    build=outcome,
                    pgbench=Pgbench(build=client),
                    machine=session.machine,
                    paths=session.paths,
                )
            results.append(SmokeResult(target=target, build=outcome, checks=checks))
    return results


def check_table(results: Sequence[SmokeResult]) -> Table:
    """Return a table with a line for each of *results*."""
    titles = ("target", "version", "built by", *SMOKE_CHECKS)
    align = "".join("r" if title in _VALUES else "l" for title in titles)
    return rich_table(titles, (result.cells() for result in results), align=align)


def check_failure(results: Sequence[SmokeResult]) -> LandspeedError | None:
    """Return the error that the checks end with; None if all went well."""
    failures = [result.failure() for result in results if not result.ok]
    return some_failed(failures, len(results), "checks of servers")
