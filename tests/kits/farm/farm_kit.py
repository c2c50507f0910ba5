"""A small upstream that is tracked, and a project that tracks it, for tests without PostgreSQL."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from base.files import digest_text
from base.paths import Paths
from benchmarks.records.record import Record
from benchmarks.records.store import RecordStore
from benchmarks.workloads.scenario import CacheState
from builders.catalog import Catalog
from tests.kits.builds.sourcekit import GitUpstream
from tests.kits.made_up.synthetic import Point, counted_record, record
from tests.kits.verbs import called

CONFIG = """
[sources]
order = ["git"]
[sources.git]
upstream = "{upstream}"
[track]
{track}
"""
MACHINE = "counter"


@dataclass(kw_only=True)
class Farm:
    """A project with an upstream; ``commits`` are those of master, oldest first."""

    root: Path
    upstream: GitUpstream
    commits: list[str] = field(default_factory=list)
    clock: int = 1_700_000_000

    @classmethod
    def make(cls, root: Path, *, commits: int = 4, track: str = "") -> Farm:
        """A Farm below *root*: master with *commits* commits, and the newest release tagged."""
        upstream = GitUpstream(root / "postgres")
        farm = cls(root=root, upstream=upstream)
        farm.project.mkdir()
        (farm.project / "asv.conf.json").write_text("{}")
        farm.configure(track)
        newest = Catalog.load().newest_stable().version
        upstream.commit(str(newest), f"Stamp {newest}.", when=farm.clock)
        upstream.git("tag", newest.tag)
        upstream.git("checkout", "--quiet", "--orphan", "line")
        upstream.git("branch", "--quiet", "-D", "master")
        upstream.git("checkout", "--quiet", "--orphan", "master")
        for number in range(commits):
            farm.commit(f"Change {number}")
        return farm

    def configure(self, track: str = "") -> None:
        """Track *track*, TOML."""
        text = CONFIG.format(upstream=self.upstream.directory, track=track or 'releases = ""')
        (self.project / "landspeed.toml").write_text(text)

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def paths(self) -> Paths:
        return Paths(cache=self.root / "cache", project=self.project)

    @property
    def records(self) -> RecordStore:
        return RecordStore(self.paths.records)

    def commit(self, subject: str) -> str:
        """One more commit on the branch that is checked out."""
        self.clock += 3600
        made = self.upstream.commit("19devel", subject, when=self.clock)
        self.commits.append(made)
        return made

    def count(
        self,
        commits: Iterable[str],
        instructions: float = 40_000.0,
        *,
        modes: Iterable[str] = ("read-only", "read-write"),
        **more: Any,
    ) -> None:
        """Records of *commits* that were counted, warm and cold, as run leaves them."""
        for commit in commits:
            for mode in modes:
                for buffers in CacheState:
                    self.records.add(
                        Record.from_json(counted(commit, instructions, mode, buffers.value, **more))
                    )

    def environment(self, **more: str) -> dict[str, str]:
        """The environment of a command in the project."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("LANDSPEED_", "GITHUB_"))}
        own = {
            "LANDSPEED_PROJECT": self.project,
            "LANDSPEED_CACHE": self.paths.cache,
            "LANDSPEED_MEASURE_LOCK": os.environ["LANDSPEED_MEASURE_LOCK"],
        }
        named = {"LANDSPEED_MACHINE": MACHINE, "COLUMNS": "100"}
        return kept | {name: str(value) for name, value in own.items()} | named | more

    def landspeed(
        self, *arguments: str, check: bool = True, **more: str
    ) -> subprocess.CompletedProcess[str]:
        """``landspeed *arguments`` in the project; *more* is its environment."""
        done = called(list(arguments), self.environment(**more))
        assert not check or done.returncode == 0, done.stderr
        return done


def counted(
    commit: str, instructions: float, mode: str, buffers: str, **more: Any
) -> Mapping[str, Any]:
    """The record of a counted run of *commit*."""
    point = Point(release=None, commit=commit, date="2026-01-01T00:00:00+00:00", mode=mode)
    timed = record(point)
    build = timed["build"] | {"digest": digest_text(commit), "cpu_seconds": 3.0}
    machine = timed["machine"] | {"name": more.get("machine", MACHINE)}
    epoch = {"identifier": "v1", "libc": "glibc 2.36", "kernel": "", "cpu": "", "microcode": ""}
    cell = timed["cell"] | {"clients": 1, "threads": 1, "buffers": buffers}
    made = counted_record(build, cell, machine, epoch)
    made["sample"] = made["sample"] | {"instructions": instructions}
    made["run"] = made["run"] | {"phases": {"count": more.get("seconds", 4.0)}}
    return made
