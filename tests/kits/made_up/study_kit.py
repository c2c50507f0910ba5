"""What a Study is planned and reported on where nothing is measured: machine, sources, records."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from base.build import Build, Origin
from base.paths import Paths
from base.version import Version
from benchmarks.machine.machine import Epoch, Machine
from benchmarks.records.columns import scalars
from benchmarks.records.record import Record
from benchmarks.workloads.points import Point
from benchmarks.workloads.scenario import Cell
from builders.source import Source
from landspeed.study.plan import StudyPlan, plan_study
from landspeed.study.report import StudyReport
from landspeed.study.request import StudyRequest
from landspeed.study.samples import rows
from landspeed.study.schema import Axes, load_study
from tests.kits.made_up.stand_ins import made_up_build
from tests.kits.made_up.synthetic import START, record
from tests.kits.made_up.synthetic import Point as MadeUp

CHECKOUT = Path(__file__).resolve().parents[3]
GIB = 1 << 30
KNOWN = ("8.4.22", "9.6.24", "17.11", "18.6")
MACHINE = Machine(
    name="elephant",
    cpu="Elephant 1",
    cores=4,
    memory_bytes=16 * GIB,
    os="Linux",
    arch="x86_64",
    epoch=Epoch(kernel="6", cpu="Elephant 1", microcode="1", libc="glibc 2"),
)


def origin(version: str) -> Origin:
    """Where the release *version* is from."""
    return Origin(release=version, commit=None, tree="a" * 40, date="2025-01-01")


class _Sources:
    def look_up(self, ref: str) -> tuple[Version, Source | None]:
        wanted = next(v for v in KNOWN if v == ref or v.rpartition(".")[0] == ref)
        return Version.parse(wanted), None

    def statuses(self) -> list[Any]:
        reach = ("git: no upstream is configured",)
        return [
            SimpleNamespace(
                version=Version.parse(version),
                is_here=version == "18.6",
                is_reachable=not version.startswith("8.4"),
                reach=reach,
            )
            for version in ("8.4.0", *KNOWN[:-1], "18.1", KNOWN[-1])
        ]


@dataclass
class PretendedWorkshop:
    """A Session that knows four releases and has built none of them."""

    paths: Paths
    machine: Machine = MACHINE
    registered: list[Build] = field(default_factory=list)
    builder: Any = field(
        default_factory=lambda: SimpleNamespace(sources=_Sources(), find=lambda *_: None)
    )

    @property
    def external_servers(self) -> Any:
        return SimpleNamespace(
            all=lambda: self.registered,
            find=lambda name: next(b for b in self.registered if b.origin.registered == name),
        )


def pretended(cache: Path, **rest: Any) -> Any:
    """A PretendedWorkshop whose project is this checkout."""
    return PretendedWorkshop(paths=Paths(cache=cache, project=CHECKOUT), **rest)


def build_of(target: Any) -> Build:
    """The Build of *target* that nobody made."""
    version = next(v for v in KNOWN if target.ref in (v, v.rpartition(".")[0]))
    name = f"{version}-{target.variant}"
    return made_up_build(name, origin(version), version=version, variant=target.variant)


def points_of(plan: StudyPlan) -> list[tuple[str, list[Point]]]:
    """The Points of each part of *plan* that can run."""
    return [
        (
            planned.part.name,
            [
                Point(build=build_of(target), cell=one.cell)
                for target in planned.request.targets
                for one in planned.cells
                if one.reason is None
            ],
        )
        for planned in plan.parts
    ]


def records_of(
    points: list[Point], *, rounds: int = 3, latency: Any = None
) -> list[dict[str, Any]]:
    """*rounds* records of each of *points*, those of a round close to each other."""
    found, at = [], START
    unique = {point.key: point for point in points}
    for round_ in range(1, rounds + 1):
        for point in unique.values():
            at += timedelta(seconds=3)
            found.append(_record(point, round_, at, latency(point) if latency else 1.0))
    return found


def _record(point: Point, round_: int, at: Any, latency: float) -> dict[str, Any]:
    made = MadeUp(clients=point.cell.clients, latency_ms=latency)
    one = record(made, number=round_, at=at)
    cell: Cell = point.cell
    one |= {
        "build": point.build.facts(),
        "machine": MACHINE.facts(),
        "epoch": MACHINE.epoch.facts(),
        "cell": cell.facts(MACHINE.cores),
    }
    one["run"] |= {"round": round_, "preset": "page-size-quick"}
    return one


def planned(cache: Path, name: str, **axes: Any) -> StudyPlan:
    """The study called *name* at quick, on *axes* where they are given."""
    study = load_study(CHECKOUT, name)
    return plan_study(pretended(cache), name, study, StudyRequest(axes=Axes(**axes)))


def slower_with_small_blocks(point: Point) -> float:
    """A latency in ms that halves, and no more, from blocks of 1 kB on."""
    return 1 + 1 / point.build.variant.blocksize


def reported(plan: StudyPlan, latency: Any = slower_with_small_blocks) -> StudyReport:
    """What a report is made of when all of *plan* was measured, each Point with its *latency*."""
    parts = points_of(plan)
    records = records_of([point for _, points in parts for point in points], latency=latency)
    table = scalars(records)
    return StudyReport(
        plan=plan,
        machine=MACHINE,
        rows=[row for name, points in parts for row in rows(name, points, table)],
        records={one["id"]: Record.from_json(one) for one in records},
        names={version.rpartition(".")[0]: version for version in KNOWN},
        errors=["the server died under pgbench"],
    )
