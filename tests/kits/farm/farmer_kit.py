"""Machines that share a results branch, for its tests."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from base.paths import Paths
from benchmarks.records.record import Record
from benchmarks.records.store import RecordStore
from landspeed.farm.remote import Remote
from landspeed.farm.results_branch import ResultsBranch
from tests.kits.made_up.synthetic import Point, record


def git(*arguments: str, **environment: str) -> str:
    """What git prints."""
    done = subprocess.run(
        ["git", *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def new_remote(root: Path) -> Path:
    """An empty repository below *root*."""
    directory = root / "remote.git"
    git("init", "--quiet", "--bare", "--initial-branch=main", str(directory))
    return directory


class Farmer:
    """A machine with results of its own; a new Farmer of the same name is the next job there."""

    def __init__(self, root: Path, remote: Path, name: str, *, cache: str = "") -> None:
        self.name = name
        self.paths = Paths(cache=root / (cache or name) / "cache", project=root / name)
        self.store = RecordStore(self.paths.records)
        self.waited: list[float] = []
        self.branch = ResultsBranch(
            remote=Remote(url=str(remote)),
            paths=self.paths,
            pause=self.waited.append,
        )

    def measure(self, count: int, first: int = 0) -> None:
        for number in range(first, first + count):
            self.store.add(Record.from_json(record(Point(machine=self.name), number=number)))

    @property
    def count(self) -> int:
        return int(self.store.table(["id"]).num_rows)


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    """A remote that has no results branch yet."""
    return new_remote(tmp_path)


@pytest.fixture
def farmer(tmp_path: Path, remote: Path) -> Callable[..., Farmer]:
    """Makes Farmers of that remote, by name."""
    return lambda name, **more: Farmer(tmp_path, remote, name, **more)
