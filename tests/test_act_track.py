"""track.yml, unmodified, under the real act, on made-up servers.

Each job has a cache of its own, as on a hosted runner: what one needs of another comes by artifact.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.act_kit import ActRun, needs_act
from tests.farm_kit import Farm
from tests.pretended_farm import command
from tests.track_kit import Tracked, tracked

pytestmark = needs_act

TRACK = """branches = ["master"]
releases = ""
modes = ["read-only"]"""


class World:
    """A farm, its upstream, and how its servers behave."""

    def __init__(self, root: Path, tracked: Tracked, farm: Farm) -> None:
        self.root, self.tracked, self.farm = root, tracked, farm
        self.log = root / "deeds.log"
        self.log.write_text("")
        self.facts: dict[str, Any] = {"log": str(self.log)}
        tracked.hub.environment |= {"LANDSPEED_CACHE": ".cache/landspeed", "HOME": str(root)}
        self.be()

    def be(self, **facts: Any) -> None:
        """From now on the servers are like this."""
        self.facts |= facts
        self.tracked.hub.environment["LANDSPEED_TEST_WORLD"] = json.dumps(self.facts)

    def commit(self, count: int) -> None:
        """*count* more commits upstream."""
        for _ in range(count):
            self.farm.commit(f"commit {len(self.farm.commits)}")

    def deeds(self, kind: str) -> Counter[str]:
        """How often each thing was built or counted."""
        lines = self.log.read_text().splitlines()
        return Counter(line for line in lines if line.startswith(kind))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    farm = Farm.make(tmp_path / "farm", commits=0)
    with tracked(tmp_path, farm.upstream.directory, command(), TRACK) as made:
        world = World(tmp_path, made, farm)
        world.commit(4)
        yield world


def assert_fine(run: ActRun) -> None:
    assert run.code == 0, run.told()
    assert run.errors == [], run.told()


def test_commits_are_built_counted_flagged_confirmed_bisected_told_and_what_is_repaired_is_closed(
    world,
):
    api = world.tracked.api
    world.be(costs={"2": 1.01}, same=[[0, 1]])
    run = world.tracked.track()
    assert_fine(run)
    assert run.jobs == dict.fromkeys(
        ("plan", "build", "count", "confirm", "publish/results", "publish/deploy", "report"),
        "success",
    )
    assert len([cell for cell in run.cells if cell.job == "build"]) == 5
    assert set(world.deeds("build").values()) == {1}
    # 0 and 1 are one server, so the second is not counted; the bisection counts its ends anew
    # (warm or cold, where it is worse, which is in the noise here)
    counted = world.deeds("count")
    worse = "warm" if counted["count 0 read-only warm"] == 2 else "cold"
    assert counted == {
        f"count {number} read-only {buffers}": 2 if buffers == worse and number < 3 else 1
        for number in (0, 2, 3)
        for buffers in ("warm", "cold")
    }
    culprit = world.farm.commits[2]
    told = (world.tracked.site / "regressions.xml").read_text()
    assert "instructions" in told
    assert culprit[:8] in told
    (issue,) = api.issues
    metric = "instructions" if worse == "warm" else "instructions_cold"
    assert issue["title"] == f"+1.00 % {metric} (read-only): {culprit[:10]} `commit 2`"
    assert f"by commit {culprit} `commit 2`**" in issue["body"]
    assert "The bisection" in issue["body"]

    again = world.tracked.track()
    assert_fine(again)
    assert again.jobs == {"plan": "success", "report": "success"}
    assert "nothing new: all that is watched is measured" in again.log("plan")
    assert len(api.calls) <= 2 + 2

    world.commit(1)
    world.be(costs={"2": 1.01, "4": 1 / 1.01})
    repaired = world.tracked.track()
    assert_fine(repaired)
    assert issue["state"] == "closed"
    assert f"**Gone since {world.farm.commits[4]} `commit 4`**" in issue["body"]
    assert set(world.deeds("count 4").values()) == {1}
