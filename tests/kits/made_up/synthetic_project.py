"""A landspeed project with made-up sources and results, for tests of what is published."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from base.build import Origin
from base.paths import Paths
from benchmarks.records.record import Record
from benchmarks.records.store import RecordStore
from builders.source import Position
from landspeed.changepoints.detect import ChangepointScan, Statuses, detect
from landspeed.results.points import Dots
from landspeed.results.series import RELEASES_LINE
from landspeed.site.asv_changepoints import write_steps
from landspeed.site.asv_results import AsvLayout, derive
from landspeed.site.pages.data import PAGES_DATA, PageInputs, page_files
from landspeed.site.pages.page_files import sync
from tests.kits.made_up.synthetic import RELEASES

CHECKOUT = Path(__file__).resolve().parents[3]
# publishing needs no environments, and these tests no builders
_ENVIRONMENTS = '".builders.asv_environment", '


@dataclass(frozen=True, kw_only=True)
class Project:
    """A checkout with asv's configuration and a bare repository of sources."""

    paths: Paths
    commits: Mapping[str, str]
    dates: Mapping[str, str]

    @classmethod
    def make(cls, root: Path, releases: Mapping[str, str] = RELEASES) -> Project:
        """A project below *root* whose ``releases`` branch has these releases (name → date)."""
        root.mkdir(parents=True, exist_ok=True)
        config = without_environments((CHECKOUT / "asv.conf.json").read_text())
        (root / "asv.conf.json").write_text(config)
        commits = bare_repository(root / "sources.git", releases)
        paths = Paths(cache=root / "cache", project=root)
        return cls(paths=paths, commits=commits, dates=releases)

    @property
    def store(self) -> RecordStore:
        return RecordStore(self.paths.records)

    @property
    def layout(self) -> AsvLayout:
        return AsvLayout(results=self.paths.results / "asv")

    def commit_of(self, origin: Origin) -> tuple[str, int] | None:
        """Where asv draws a release: its commit on the branch, and midnight of its day."""
        release = origin.release
        if release not in self.commits:
            return None
        day = datetime.fromisoformat(self.dates[release]).replace(tzinfo=UTC)
        return self.commits[release], int(day.timestamp() * 1000)

    def add(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Keep *records* and seal them."""
        for record in records:
            self.store.add(Record.from_json(record))
        self.store.seal()

    def derive(self) -> int:
        """Derive asv's files, and the steps beside them, from all records; return the points."""
        points, _ = derive(Dots(self.store.table()), self.layout, self.commit_of)
        steps = self.scan().changepoints
        write_steps(steps, self.commit_of, self.layout.results)
        self.write_pages(PageInputs(steps=steps, commits={}))
        return points

    def write_pages(self, inputs: PageInputs) -> None:
        """Write the data of landspeed's own pages from all records and *inputs*."""
        files = page_files(Dots(self.store.table()), self.place_of, inputs)
        sync(files, self.paths.results / PAGES_DATA)

    def scan(self, statuses: Statuses | None = None) -> ChangepointScan:
        """What the series of all records show."""
        return detect(Dots(self.store.table()), self.place_of, statuses=statuses)

    def place_of(self, origin: Origin) -> Position | None:
        """Releases in their order on the branch; nothing else has a place."""
        order = list(self.commits)
        if origin.release not in self.commits:
            return None
        return Position(branch=RELEASES_LINE, position=order.index(str(origin.release)))


def without_environments(config: str) -> str:
    """asv's *config* without the plug-in that needs builders."""
    assert _ENVIRONMENTS in config
    return config.replace(_ENVIRONMENTS, "")


def bare_repository(path: Path, releases: Mapping[str, str]) -> dict[str, str]:
    """Make a bare repository with one tagged commit per release; release → commit."""
    subprocess.run(["git", "init", "-q", "--bare", "-b", "releases", path], check=True)
    tree = _git(path, "hash-object", "-t", "tree", "-w", "--stdin")
    commits: dict[str, str] = {}
    parent: list[str] = []
    for release, date in releases.items():
        commits[release] = _git(path, "commit-tree", tree, "-m", release, *parent, date=date)
        _git(path, "tag", release, commits[release])
        parent = ["-p", commits[release]]
    _git(path, "update-ref", "refs/heads/releases", parent[-1])
    return commits


def _git(path: Path, *arguments: str, date: str = "2025-01-01") -> str:
    who = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (
            ("NAME", "a"),
            ("EMAIL", "a@example.org"),
            ("DATE", f"{date}T00:00:00Z"),
        )
    }
    done = subprocess.run(
        ["git", "-C", path, *arguments],
        env={**os.environ, **who},
        input="",
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()
