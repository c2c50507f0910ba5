"""atlas.yml, unmodified, under the real act, on made-up servers: a search on several machines.

Each job has a cache of its own, as on a hosted runner: what one needs of another comes by results.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kits.farm.act_kit import ActRun, needs_act
from tests.kits.farm.track_world import TrackWorld, assert_fine, pretended_farm, track_world

__all__ = ["pretended_farm"]  # fixtures
pytestmark = [needs_act, pytest.mark.slow]

COMMITS, MACHINES, MOST_GOES = 25, 3, 6
AGAIN = {6, 7, 17, 18}
"""The commits to be found and their parents: what changed there is counted a second time."""


@pytest.fixture
def world(tmp_path: Path, pretended_farm: list[str]) -> Iterator[TrackWorld]:
    """A farm of which two commits change what everything costs, and one does not build."""
    with track_world(tmp_path, pretended_farm) as made:
        made.commit(COMMITS)
        made.be(costs={"7": 1.03, "18": 0.95}, broken=[12])
        yield made


def go(world: TrackWorld, **inputs: object) -> ActRun:
    """One run: of the same search, unless *inputs* say otherwise."""
    own = {"good": world.farm.commits[0], "bad": "master", "suite": "small", "size": "1%"}
    own |= {"grid": "4", "jobs": str(MACHINES), "budget": "1h"}
    return world.tracked.hub.run("atlas.yml", inputs=own | inputs)


def report(world: TrackWorld, run: ActRun) -> dict[str, Any]:
    path = world.tracked.hub.stubs / "artifacts" / str(run.number) / "report" / "atlas.json"
    return dict(json.loads(path.read_text()))


def named(facts: dict[str, Any]) -> list[str]:
    return [one["commit"]["subject"] for one in facts["changes"]]


def rest(world: TrackWorld) -> dict[str, Any]:
    """Go on until nothing is left; the report."""
    for _ in range(MOST_GOES):
        run = go(world)
        assert_fine(run)
        if report(world, run)["complete"]:
            return report(world, run)
    raise AssertionError(run.told())


def killed(world: TrackWorld, how: str) -> ActRun:
    """The first run, of which one machine is killed while it counts commit 16; of *how*."""
    world.be(**{how: "count 16 "})
    run = go(world)
    assert run.jobs == {
        **dict.fromkeys(("check", "plan"), "success"),
        "count": "failure",
        **dict.fromkeys(("publish/results", "publish/site", "publish/deploy"), "success"),
        "report": "success",
    }, run.told()
    # act calls every cell failed that ends after one that did: what each said tells
    assert len([cell for cell in run.cells if cell.job == "count"]) == MACHINES
    assert run.log("count").count("left in this share: 0 builds and 0 counts") == MACHINES - 1
    # no commit is built by two machines
    built = {deed: times for deed, times in world.deeds("build").items() if deed != "build -1"}
    assert set(built.values()) == {1}
    facts = report(world, run)
    assert not facts["complete"]
    assert f"About {facts['builds_left']} build" in run.summary("report")
    return run


def twice(world: TrackWorld) -> set[int]:
    """The commits of which something was counted more than once."""
    deeds = world.deeds("count").items()
    return {int(deed.split()[1]) for deed, times in deeds if times > 1}


def journals(world: TrackWorld) -> int:
    return len([name for name in world.tracked.branch() if name.startswith("atlas/")])


def test_a_search_on_several_machines_one_of_which_is_killed_continues_from_what_all_returned(
    world,
):
    killed(world, "kill")
    done = {int(deed.split()[1]) for deed in world.deeds("count")}
    assert done >= {0, 4, 16, 24}
    assert journals(world) == MACHINES
    world.commit(2)  # master moves on
    facts = rest(world)
    assert named(facts) == ["commit 7", "commit 18"]
    assert all(one["among"] == 1 for one in facts["changes"])
    assert facts["commits"] == COMMITS - 1 + 2
    assert twice(world) <= {16, *AGAIN}  # 16: the count that was cut short
    assert max(world.deeds("count").values()) == 2
    assert set(world.tracked.records(("commit", "mode")).values()) == {1}

    before, idle = world.deeds("count"), go(world)
    assert_fine(idle)
    assert idle.jobs == dict.fromkeys(("check", "plan", "report"), "success")
    assert named(report(world, idle)) == ["commit 7", "commit 18"]
    assert world.deeds("count") == before


def test_what_a_machine_that_is_lost_with_its_results_had_to_count_is_left_for_the_next_run(world):
    lost = killed(world, "lose")
    assert journals(world) == MACHINES - 1
    had = {commit for (commit,) in world.tracked.records(("commit",))}
    left = [at for at in (0, 4, 8, 12, 16, 20, 24) if world.farm.commits[at] not in had]
    assert 16 in left
    assert len(left) < 5, lost.told()
    assert named(rest(world)) == ["commit 7", "commit 18"]
    assert twice(world) <= {*range(8, 20), *AGAIN}  # the share of the one that was lost
    assert set(world.tracked.records(("commit", "mode")).values()) == {1}
