"""``landspeed`` on a farm whose servers are made up: built as small files, counted as told.

What workflows call in tests: sources, archives, records, steps, bisections, the site and issues
are real. The world is $LANDSPEED_TEST_WORLD, JSON: what a transaction costs from each commit on
(``costs``, by the number in its subject), which do not build (``broken``), which are one server
(``same``), after how many deeds the process is killed (``kill_after``), and where they are noted.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from base.build import Build, Variant
from base.errors import BuildError, LandspeedError
from base.files import digest_tree
from benchmarks import valgrind
from builders.source import Source
from landspeed import campaign, counting, sampling
from landspeed.bisect import bisecting
from landspeed.cli import main as landspeed
from landspeed.target import Target
from landspeed.workshop import Workshop
from tests.stand_ins import nothing, timed_record

CHECKOUT = Path(__file__).resolve().parent.parent
BASE = 40_000.0


def command() -> list[str]:
    """The command that is this program."""
    return ["env", f"PYTHONPATH={CHECKOUT}", sys.executable, "-m", "tests.pretended_farm"]


@dataclass(kw_only=True)
class World:
    """A World is how its servers behave; each build and each count is a line of ``log``."""

    log: str
    costs: Mapping[str, float] = field(default_factory=dict)
    broken: Sequence[int] = ()
    same: Sequence[Sequence[int]] = ()
    kill_after: str = ""

    def note(self, deed: str) -> None:
        """Write *deed* down; be killed if it is the one to be killed at."""
        with Path(self.log).open("a") as stream:
            stream.write(f"{deed}\n")
        if self.kill_after and deed.startswith(self.kill_after):
            # once: the next runner is told nothing of it
            marker = Path(f"{self.log}.{self.kill_after}")
            if not marker.exists():
                marker.touch()
                os.kill(os.getpid(), signal.SIGKILL)

    def build(self, workshop: Workshop, source: Source, variant: Variant) -> Build:
        """The made-up Build of *source*, in the store under its real identifier."""
        builder = workshop.builder
        plan = builder.recipe(source, variant)
        identifier = builder.identifier(source, plan)
        found = builder.store.find(identifier)
        if found:
            return found
        number = -1
        if source.origin.release is None:
            commit = builder.sources.history.commit(str(source.origin.commit))
            number = int(commit.subject.split()[1])
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

    def count(self, *, build: Build, cell: Any, machine: Any, **rest: Any) -> dict[str, Any]:
        """The record of a count of *build*."""
        number = int((build.prefix / "bin" / "postgres").read_text())
        self.note(f"count {number} {cell.scenario.mode} {cell.buffers}")
        cost = BASE
        for first, factor in self.costs.items():
            cost *= factor if number >= int(first) else 1.0
        run = {"instrument": "callgrind", "phases": {"count": 4.0}, **rest["context"]}
        return {
            **timed_record(build=build, cell=cell, machine=machine, run=run),
            "epoch": {"identifier": "counted", "libc": "glibc 2.36"},
            "pgbench": {"version": str(rest["pgbench"].version), "build": "b"},
            "sample": {"instructions": cost, "instructions_spread": 1e-5},
            "passes": [],
        }


def main() -> None:
    """``landspeed`` in the World that the environment tells of."""
    world = World(**json.loads(os.environ["LANDSPEED_TEST_WORLD"]))

    def build(self: Workshop, source: Source, variant: Variant, *_: Any, **__: Any) -> Build:
        return world.build(self, source, variant)

    def build_all(
        self: Workshop, targets: Sequence[Target], *_: Any, **__: Any
    ) -> dict[Target, Build | LandspeedError]:
        found: dict[Target, Build | LandspeedError] = {}
        for target in targets:
            try:
                source = self.builder.sources.resolve(target.ref)
                found[target] = self.build(source, target.variant)
            except LandspeedError as error:
                found[target] = error
        return found

    Workshop.build = build  # type: ignore[method-assign]
    Workshop.build_all = build_all  # type: ignore[method-assign]
    for module in (counting, sampling):
        module.count = world.count  # type: ignore[assignment]
    for module in (bisecting, valgrind):
        module.count_epoch = lambda: SimpleNamespace(identifier="counted")
    for module in (campaign, bisecting):
        module.measuring = nothing  # type: ignore[assignment]
    campaign.prepare = lambda **_: None  # type: ignore[assignment]
    campaign.templates = lambda *_: None  # type: ignore[assignment]
    landspeed()


if __name__ == "__main__":
    main()
