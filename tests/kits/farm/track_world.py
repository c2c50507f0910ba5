"""A farm whose servers are made up, tracked by the real workflow under the real act.

Each job has a cache of its own, as on a hosted runner: what one needs of another comes by artifact.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DATA
from tests.kits.farm.act_kit import ActRun
from tests.kits.farm.farm_kit import Farm
from tests.kits.farm.forked import forked
from tests.kits.farm.track_kit import Tracked, tracked

TRACK = """branches = ["master"]
releases = ""
modes = ["read-only"]"""
NOTHING_NEW = {"plan": "success", "report": "success"}


class TrackWorld:
    """A farm, its upstream, and how its servers behave: the fields of a pretended_farm.World."""

    def __init__(self, root: Path, tracked: Tracked, farm: Farm) -> None:
        self.root, self.tracked, self.farm = root, tracked, farm
        self.log = root / "deeds.log"
        self.log.write_text("")
        self.facts: dict[str, Any] = {"log": str(self.log)}
        own = {"LANDSPEED_CACHE": ".cache/landspeed", "LANDSPEED_DATA": str(DATA)}
        tracked.hub.environment |= {**own, "LANDSPEED_MACHINE": "counter", "HOME": str(root)}
        self.be()

    def be(self, **facts: Any) -> None:
        """From now on the servers are like this."""
        self.facts |= facts
        told = self.root / "world.json"
        told.write_text(json.dumps(self.facts))
        self.tracked.hub.environment["LANDSPEED_TEST_WORLD"] = str(told)

    def commit(self, count: int) -> None:
        """*count* more commits upstream."""
        for _ in range(count):
            self.farm.commit(f"commit {len(self.farm.commits)}")

    def deeds(self, kind: str) -> Counter[str]:
        """How often each thing was built, counted or timed."""
        lines = self.log.read_text().splitlines()
        return Counter(line for line in lines if line.startswith(kind))

    def killed_at(self, deed: str, when: Callable[[], bool] = lambda: True) -> None:
        """A run of track.yml of which all machines die, one in the middle of *deed*, and *when*."""
        self.be(hang=deed)
        marker = Path(f"{self.log}.{deed}.begun")
        self.tracked.killed(lambda: marker.exists() and when())


@contextmanager
def track_world(root: Path, landspeed: list[str], track: str = TRACK) -> Iterator[TrackWorld]:
    """A TrackWorld below *root* whose upstream has no commit yet."""
    farm = Farm.make(root / "farm", commits=0)
    with tracked(root, farm.upstream.directory, landspeed, track, order='["git"]') as made:
        yield TrackWorld(root, made, farm)


@pytest.fixture(scope="session")
def pretended_farm() -> Iterator[list[str]]:
    """The command that is landspeed on made-up servers."""
    with forked("tests.kits.farm.pretended_farm") as command:
        yield command


@pytest.fixture
def world(tmp_path: Path, pretended_farm: list[str]) -> Iterator[TrackWorld]:
    """A farm with four commits."""
    with track_world(tmp_path, pretended_farm) as made:
        made.commit(4)
        yield made


def assert_fine(run: ActRun) -> None:
    """Everything ended well, and nothing was called an error."""
    assert run.code == 0, run.told()
    assert run.errors == [], run.told()


def hook(world: TrackWorld, name: str, script: str) -> Callable[[], None]:
    """Have the repository of the results run *script* as its hook; what takes it away again."""
    path = world.tracked.origin / "hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path.unlink
