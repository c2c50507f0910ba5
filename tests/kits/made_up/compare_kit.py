"""Comparisons on a made-up machine: servers with a speed, runs with noise, a store."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from base.build import Build, Origin
from base.errors import MeasureError
from base.paths import Paths
from benchmarks.clients.pgbench import Pgbench
from benchmarks.machine.machine import Machine
from benchmarks.records.record import Record
from benchmarks.records.store import RecordStore
from benchmarks.workloads.metrics import Metric, metric_named
from benchmarks.workloads.scenario import Cell, Mode, Protocol, Scenario, Tier
from landspeed.compare import timed
from landspeed.compare.plan import ComparePlan, CompareSide
from landspeed.compare.verdict import StoppingRule
from landspeed.sampling import sampler
from tests.kits.made_up.stand_ins import made_up_build, nothing, timed_record

LATENCY, TPS = metric_named("latency"), metric_named("tps")
CELL = Cell(
    scenario=Scenario(mode=Mode.READ_ONLY, protocol=Protocol.PREPARED, tier=Tier.SMALL, scale=5),
    clients=1,
    profile="default",
)


def build(name: str, *, digest: str = "", prefix: Path = Path("/nowhere")) -> Build:
    """Return a build called *name* that installed the files of *digest*, by default its own."""
    origin = Origin(release=name, commit=None, tree=name, date="2025-01-01")
    return made_up_build(f"{name}-bs8", origin, digest=digest or name, prefix=prefix)


@dataclass
class Bench:
    """Stand-in for `measure`: *latency* by name of the server, with log-normal noise."""

    latency: dict[str, float] = field(default_factory=dict)
    noise: float = 0.01
    seconds: float = 3.0
    failing: str = ""
    stop_after: int | None = None
    asked: list[dict[str, Any]] = field(default_factory=list)
    loaded: list[dict[str, Any]] = field(default_factory=list)
    dice: random.Random = field(default_factory=lambda: random.Random(1))

    def __call__(
        self, *, build: Build, cell: Cell, machine: Machine, context: dict[str, Any], **rest: Any
    ) -> Record:
        if self.stop_after is not None and len(self.asked) >= self.stop_after:
            raise KeyboardInterrupt
        self.asked.append({"build": build.identifier, "seed": rest["seed"], **context})
        if self.failing and build.identifier.startswith(self.failing):
            raise MeasureError("the server died under pgbench")
        latency = self.latency.get(build.origin.name, 0.1) * self.dice.lognormvariate(0, self.noise)
        run = {
            "seconds": rest["seconds"],
            "seed": rest["seed"],
            "phases": {"pgbench": self.seconds},
            **context,
        }
        return timed_record(build=build, cell=cell, machine=machine, run=run, latency=latency)


class _Store:
    in_use = staticmethod(nothing)


@dataclass
class _Builder:
    store: _Store = field(default_factory=_Store)


@dataclass
class FakeSession:
    """What a comparison needs of a session, below one directory."""

    paths: Paths
    builder: _Builder = field(default_factory=_Builder)
    machine: Machine = field(default_factory=lambda: Machine.detect("elephant"))

    @property
    def records(self) -> RecordStore:
        return RecordStore(self.paths.records)


@pytest.fixture
def session(tmp_path: Path) -> Any:
    return FakeSession(paths=Paths(cache=tmp_path / "cache", project=tmp_path))


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    made = Bench()
    with at_bench(made, monkeypatch):
        yield made


@contextmanager
def at_bench(made: Bench, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have *made* measure every comparison; a run takes the time that *made* says."""
    monkeypatch.setattr(sampler, "measure", made)
    monkeypatch.setattr(timed, "prepare", lambda **what: made.loaded.append(what))
    monkeypatch.setattr(timed, "templates", lambda *_, cell: cell)
    monkeypatch.setattr(timed, "measuring", nothing)
    monkeypatch.setattr(timed, "_clock", lambda: made.seconds * len(made.asked))
    yield


def plan_of(
    *names: str, budget: float = 600.0, cell: Cell = CELL, metric: Metric = LATENCY, **how: Any
) -> ComparePlan:
    """Return the plan of a comparison of the servers called *names*, with runs of one second."""
    names_of_rule = ("precision", "confidence", "narrow")
    rule = StoppingRule(**{name: how.pop(name) for name in names_of_rule if name in how})
    return ComparePlan(
        sides=tuple(CompareSide(label=name, build=build(name), cell=cell) for name in names),
        rule=rule.of(metric),
        pgbench=Pgbench(build=build("18.1")),
        metric=metric,
        budget=budget,
        **({"seconds": 1} | how),
    )


def elsewhere(machine: Machine, **changes: str) -> Machine:
    """Return *machine* with another name, or in an epoch that differs in *changes*."""
    name = changes.pop("name", machine.name)
    return replace(machine, name=name, epoch=replace(machine.epoch, **changes))
