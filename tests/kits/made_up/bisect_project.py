"""A project whose commits are real and whose servers are made up, for bisections in seconds.

Run as a program it is ``landspeed`` on such a project, told what to be by $LANDSPEED_TEST_WORLD
(JSON: the fields of `Pretence`), so that a test can kill it.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
from click.testing import Result

from base.build import Build, Origin, Variant
from base.errors import BuildError, LandspeedError, MeasureError
from base.version import Version
from benchmarks.counted import valgrind
from benchmarks.records.record import Record
from builders.builder import Builder
from builders.source import Source
from landspeed.bisect import run, search, sweep
from landspeed.cli import bisect as bisect_verb
from landspeed.compare import counted, prepare, timed
from landspeed.sampling import counted as campaign_counted
from landspeed.sampling import sampler
from landspeed.session.session import Session
from tests.kits.builds.sourcekit import IDENTITY, GitUpstream
from tests.kits.made_up.stand_ins import (
    MadeUpCountEnvironment,
    counted_pass,
    made_up_build,
    nothing,
    timed_record,
)

CHECKOUT = Path(__file__).resolve().parents[3]
COUNT = 64
"""How many commits after the first one most tests search."""


@dataclass(kw_only=True)
class Pretence:
    """How made-up servers behave, by the subject of their commit (``commit 7``).

    ``latency`` is that of commit 0 in ms; from each of ``steps`` on it is multiplied. What is in
    ``broken`` does not build, in ``crashing`` does not run, and the builds of ``failing`` end with
    its errors; ``same`` names servers that are one; ``numbers`` gives other subjects a number.
    After ``kill_after`` Runs the process is killed.
    """

    latency: float = 0.1
    noise: float = 0.005
    steps: Mapping[str, float] = field(default_factory=dict)
    broken: Sequence[int] = ()
    crashing: Sequence[int] = ()
    failing: Mapping[int, LandspeedError] = field(default_factory=dict)
    same: Sequence[Sequence[int]] = ()
    numbers: Mapping[str, int] = field(default_factory=dict)
    kill_after: int | None = None
    log: str = ""

    def number(self, build: Build) -> int:
        return int(build.identifier.removeprefix("commit-"))

    def built(self, source: Source, number: int) -> Build:
        if number in self.broken:
            raise BuildError(f"commit {number} does not compile")
        if error := self.failing.get(number):
            raise error
        alike = next((group[0] for group in self.same if number in group), number)
        return made_up_build(
            f"commit-{number}", source.origin, digest=f"{alike:064d}", version=str(source.version)
        )

    def measured(
        self, *, build: Build, cell: Any, machine: Any, seed: int, context: Any, **rest: Any
    ) -> Record:
        number = self.number(build)
        if number in self.crashing:
            raise MeasureError(f"the server of commit {number} died under pgbench")
        latency = self.latency
        for step, factor in self.steps.items():
            latency *= factor if number >= int(step) else 1.0
        latency *= random.Random(f"{number}/{seed}").lognormvariate(0, self.noise)
        self._noted(number)
        run = {"seconds": rest["seconds"], "seed": seed, "phases": {"run": 1.0}, **context}
        return timed_record(build=build, cell=cell, machine=machine, run=run, latency=latency)

    def counted(self, *, build: Build, cell: Any, machine: Any, **rest: Any) -> Record:
        """The record of a count: exact but for what a count may be off."""
        record = replace(self, noise=1e-6).measured(
            build=build, cell=cell, machine=machine, seconds=0, seed=1, context=rest["context"]
        )
        instructions = 5e5 * record.sample.latency_ms
        counts = {"instructions": instructions, "instructions_spread": 2e-6}
        passes = [counted_pass(n, n * instructions) for n in (200, 1200)]
        epoch = {"identifier": "counted"}
        parts = {"sample": counts, "epoch": epoch, "passes": passes}
        return Record.from_json(record.to_json() | parts)

    def _noted(self, number: int) -> None:
        if not self.log:
            return
        path = Path(self.log)
        with path.open("a") as stream:
            stream.write(f"{number}\n")
        if self.kill_after is not None and path.read_text().count("\n") == self.kill_after:
            os.kill(os.getpid(), signal.SIGKILL)


class Clock:
    """A Clock on which every look takes a second."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def pretend(pretence: Pretence, patch: Any) -> None:
    """Have servers built and measured as *pretence* says; *patch* sets attributes."""

    def build(self: Session, source: Source, variant: Variant, **_: object) -> Build:
        subject = self.builder.sources.history.commit(str(source.origin.commit)).subject
        number = pretence.numbers.get(subject)
        made = pretence.built(source, int(subject.split()[1]) if number is None else number)
        (self.builder.store.root / made.identifier).mkdir(parents=True, exist_ok=True)
        return made

    client = Build(
        prefix=Path("/nowhere"),
        identifier="18.1-bs8",
        version=Version.parse("18.1"),
        origin=Origin(release="18.1", commit=None, tree="", date="2025-11-13"),
        variant=Variant(),
        build_system="meson",
        quirks=(),
        toolchain={},
        digest="client",
        cpu_seconds=1.0,
    )

    def build_all(self: Session, targets: Sequence[Any], **_: object) -> dict[Any, Build]:
        # of variants the block size is the number
        resolved = {target: self.builder.sources.resolve(target.ref) for target in targets}
        return {
            target: replace(
                pretence.built(source, target.variant.blocksize), variant=target.variant
            )
            for target, source in resolved.items()
        }

    patch(Session, "build", build)
    patch(Session, "build_all", build_all)
    patch(Session, "pgbench_build", lambda self, **_: client)
    patch(Builder, "newest_stable", lambda self: SimpleNamespace(version=client.version))
    patch(sampler, "measure", pretence.measured)
    for module in (sampler, campaign_counted):
        patch(module, "count", pretence.counted)
    for module in (search, valgrind):
        patch(module, "count_epoch", MadeUpCountEnvironment)
    patch(campaign_counted, "count_environment", lambda *_: MadeUpCountEnvironment())
    patch(prepare, "require_countable", lambda: None)
    for module in (run, timed, counted, sweep):
        patch(module, "measuring", nothing)
    patch(timed, "prepare", lambda **_: None)
    patch(timed, "templates", lambda *_, **__: None)
    clock = Clock()
    patch(timed, "_clock", clock)
    patch(search, "_clock", clock)


@dataclass(frozen=True, kw_only=True)
class MadeUp:
    """A project and the hashes of its upstream's commits."""

    project: Path
    upstream: GitUpstream
    commits: Sequence[str]

    @classmethod
    def make(cls, root: Path, count: int) -> MadeUp:
        """A project below *root* whose upstream has commits 0 … *count*."""
        upstream = GitUpstream(root / "upstream")
        first = upstream.commit("19devel", "commit 0", when=1_700_000_000)
        stream = "".join(_commit(number, first) for number in range(1, count + 1))
        subprocess.run(
            ["git", "fast-import", "--quiet"],
            cwd=upstream.directory,
            input=stream.encode(),
            env=os.environ | IDENTITY,
            check=True,
        )
        listed = upstream.git("rev-list", "--reverse", "master").splitlines()
        project = root / "project"
        project.mkdir()
        (project / "asv.conf.json").write_text((CHECKOUT / "asv.conf.json").read_text())
        (project / "landspeed.toml").write_text(
            f'[sources]\norder = ["git"]\n[sources.git]\nupstream = "{upstream.directory}"\n'
        )
        return cls(project=project, upstream=upstream, commits=listed)

    @property
    def environment(self) -> dict[str, str]:
        cache = self.project.parent / "cache"
        return {"LANDSPEED_PROJECT": str(self.project), "LANDSPEED_CACHE": str(cache)}

    def run(self, pretence: Pretence, *words: str) -> subprocess.CompletedProcess[str]:
        """``landspeed bisect *words`` in a process of its own."""
        told = {"LANDSPEED_TEST_WORLD": json.dumps(asdict(pretence)), "PYTHONPATH": str(CHECKOUT)}
        return subprocess.run(
            [sys.executable, "-m", "tests.kits.made_up.bisect_project", *words],
            cwd=CHECKOUT,
            env=os.environ | self.environment | told,
            capture_output=True,
            text=True,
            check=False,
        )


def facts(result: Result) -> dict[str, Any]:
    """What a command printed with --json."""
    assert result.stdout, result.exception
    return dict(json.loads(result.stdout))


def _commit(number: int, first: str) -> str:
    when = 1_700_000_000 + 3600 * number
    who = f"A Hacker <hacker@example.org> {when} +0000"
    message = f"commit {number}"
    parent = f"from {first}\n" if number == 1 else ""
    return (
        f"commit refs/heads/master\nauthor {who}\ncommitter {who}\n"
        f"data {len(message)}\n{message}\n{parent}"
        f"M 100644 inline note\ndata {len(message)}\n{message}\n"
    )


def main() -> None:
    """``landspeed bisect`` on the world that the environment tells of."""
    pretend(Pretence(**json.loads(os.environ["LANDSPEED_TEST_WORLD"])), setattr)
    try:
        bisect_verb.bisect_.main(sys.argv[1:], standalone_mode=False)
    except LandspeedError as error:
        click.echo(str(error), err=True)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
