"""``landspeed`` on a farm whose servers are made up: built as small files, counted as told.

What workflows call in tests: sources, archives, records, steps, bisections, the site and issues
are real. The world is $LANDSPEED_TEST_WORLD, JSON or a file of it (act evaluates expressions in a
variable): the fields of a `World`.
"""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from base.build import Build, Variant
from base.errors import BuildError, LandspeedError
from base.files import digest_tree
from base.paths import Paths
from benchmarks.counted import valgrind
from benchmarks.counted.count import Counter
from benchmarks.records.record import Record
from benchmarks.workloads.scenario import Cell
from builders.source import Source
from landspeed.atlas import run as atlas
from landspeed.bisect import run, search
from landspeed.campaign import campaign
from landspeed.cli.main import main as landspeed
from landspeed.farm.github.api import GitHub
from landspeed.sampling import counted, sampler
from landspeed.session.session import Session
from landspeed.session.target import Target
from tests.kits.made_up.stand_ins import MadeUpCountEnvironment, nothing, timed_record

BASE = 40_000.0


@dataclass(kw_only=True)
class World:
    """How its servers behave; each build, count and timed Run is a line of ``log``.

    From each commit of ``costs`` on (by the number in its subject) a transaction costs so many
    times more; ``broken`` ones do not build, those of ``same`` are one server, other ``subjects``
    have a number too. At the deed that begins with ``kill`` the process is killed, at ``lose`` its
    machine is lost with all its results, at ``hang`` it goes no further: once, and ``*.begun``
    beside the log says so. A machine's results outlive a job in its ``homes``.
    """

    log: str
    costs: Mapping[str, float] = field(default_factory=dict)
    broken: Sequence[int] = ()
    same: Sequence[Sequence[int]] = ()
    subjects: Mapping[str, int] = field(default_factory=dict)
    kill: str = ""
    lose: str = ""
    hang: str = ""
    homes: Mapping[str, str] = field(default_factory=dict)

    def note(self, deed: str) -> None:
        """Write *deed* down, and have happen what is to happen at it."""
        with Path(self.log).open("a") as stream:
            stream.write(f"{deed}\n")
        if self.kill and deed.startswith(self.kill) and self.first(self.kill):
            os.kill(os.getpid(), signal.SIGKILL)
        if self.lose and deed.startswith(self.lose) and self.first(self.lose):
            shutil.rmtree(Paths.find().results)
            os.kill(os.getpid(), signal.SIGKILL)
        if self.hang and deed.startswith(self.hang) and self.first(self.hang):
            time.sleep(900)

    def first(self, deed: str) -> bool:
        """Whether nothing has happened at *deed* yet: the next runner is told nothing of it."""
        marker = Path(f"{self.log}.{deed}.begun")
        if marker.exists():
            return False
        marker.touch()
        return True

    def number(self, subject: str) -> int:
        """The number of the commit with that *subject*."""
        return self.subjects[subject] if subject in self.subjects else int(subject.split()[1])

    def build(self, session: Session, source: Source, variant: Variant) -> Build:
        """The made-up Build of *source*, in the store under its real identifier."""
        builder = session.builder
        plan = builder.recipe(source, variant)
        identifier = builder.identifier(source, plan)
        found = builder.store.find(identifier)
        if found:
            return found
        number = -1
        if source.origin.release is None:
            commit = builder.sources.history.commit(str(source.origin.commit))
            number = self.number(commit.subject)
        self.note(f"build {number}")
        if number in self.broken:
            raise BuildError(f"commit {number} does not compile")
        alike = next((group[0] for group in self.same if number in group), number)
        with tempfile.TemporaryDirectory() as scratch:
            stage = Path(scratch) / "stage"
            (stage / "bin").mkdir(parents=True)
            (stage / "bin" / "postgres").write_text(str(alike))
            made = Build(
                prefix=stage,
                identifier=identifier,
                version=source.version,
                origin=source.origin,
                variant=variant,
                build_system="meson",
                quirks=(),
                toolchain=builder.sandbox.toolchain(variant),
                digest=digest_tree(stage),
                cpu_seconds=1.0,
            )
            return builder.store.put(stage, made)

    def count(self, *, build: Build, cell: Any, machine: Any, **rest: Any) -> Record:
        """The record of a count of *build*."""
        number = _number_of(build)
        self.note(f"count {number} {cell.scenario.mode} {cell.buffers}")
        cost = BASE * self.factor(number)
        run = {"instrument": "callgrind", "phases": {"count": 4.0}, **rest["context"]}
        return timed_record(
            time=_now(),
            build=build,
            cell=cell,
            machine=machine,
            run=run,
            epoch={"identifier": "counted", "libc": "glibc 2.36"},
            pgbench={"version": str(rest["pgbench"].version), "build": "b"},
            sample={"instructions": cost, "instructions_spread": 1e-5},
            passes=[],
        )

    def measure(
        self, *, build: Build, cell: Any, machine: Any, seed: int, context: Any, **rest: Any
    ) -> Record:
        """The record of a timed Run on *build*: as noisy as a quiet machine."""
        number = _number_of(build)
        self.note(f"time {number} {cell.scenario.mode} c{cell.clients} {context['round']}")
        run = {"seconds": rest["seconds"], "seed": seed, "phases": {"pgbench": 2.0}, **context}
        # the same every time: by another seed, some test in a hundred would see a change
        drawn = f"{number}/{cell.scenario.mode}/{cell.clients}/{context['round']}"
        noise = random.Random(drawn).lognormvariate(0, 0.003)
        latency = 0.1 * self.factor(number) * noise
        return timed_record(
            time=_now(),
            build=build,
            cell=cell,
            machine=machine,
            run=run,
            latency=latency,
            pgbench={"version": str(rest["pgbench"].version), "build": "b"},
        )

    def factor(self, number: int) -> float:
        """What a transaction of commit *number* costs, times that of the first."""
        return math.prod(f for first, f in self.costs.items() if number >= int(first))


def _now() -> str:
    # a machine whose records are old is a silent one
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _number_of(build: Build) -> int:
    return int((build.prefix / "bin" / "postgres").read_text())


def main() -> None:
    """``landspeed`` in the World that the environment tells of."""
    told = os.environ["LANDSPEED_TEST_WORLD"]
    world = World(**json.loads(told if told.startswith("{") else Path(told).read_text()))
    home = world.homes.get(os.environ.get("LANDSPEED_MACHINE", ""))
    if home is not None:
        os.environ["LANDSPEED_RESULTS"] = home

    def build(self: Session, source: Source, variant: Variant, *_: Any, **__: Any) -> Build:
        return world.build(self, source, variant)

    def build_all(
        self: Session, targets: Sequence[Target], *_: Any, **__: Any
    ) -> dict[Target, Build | LandspeedError]:
        found: dict[Target, Build | LandspeedError] = {}
        for target in targets:
            try:
                source = self.builder.sources.resolve(target.ref)
                found[target] = self.build(source, target.variant)
            except LandspeedError as error:
                found[target] = error
        return found

    def pgbench_build(self: Session, **_: Any) -> Build:
        source = self.builder.newest_stable()
        return self.builder.find_client() or world.build(self, source, Variant())

    def count_side_by_side(counter: Counter, cells: Sequence[Cell], done: Any) -> None:
        facts = {"machine": counter.machine, "pgbench": counter.pgbench, "context": counter.context}
        for cell in cells:
            done(cell, world.count(build=counter.build, cell=cell, **facts))

    Session.build = build  # type: ignore[method-assign]
    Session.pgbench_build = pgbench_build  # type: ignore[method-assign]
    Session.build_all = build_all  # type: ignore[method-assign]
    for module in (counted, sampler):
        module.count = world.count  # type: ignore[assignment]
    for module in (campaign, sampler):
        module.measure = world.measure  # type: ignore[assignment]
    for module in (search, valgrind, atlas):
        module.count_epoch = MadeUpCountEnvironment
    for module in (campaign, run, atlas):
        module.measuring = nothing  # type: ignore[assignment]
    counted.count_environment = lambda *_: MadeUpCountEnvironment()  # type: ignore[assignment]
    atlas.count_side_by_side = count_side_by_side
    atlas.require_countable = lambda: None
    campaign.prepare = lambda **_: None  # type: ignore[assignment]
    campaign.templates = lambda *_, **__: None  # type: ignore[assignment]
    campaign.point_due = lambda *_: None  # no server is compared with itself
    # who asks us to wait is believed, not waited for
    GitHub.__init__.__kwdefaults__["pause"] = lambda _: None
    landspeed()


if __name__ == "__main__":
    main()
