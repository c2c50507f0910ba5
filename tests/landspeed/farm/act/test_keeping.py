"""track.yml and publish.yml, unmodified, where results stay in an artifact or in a directory.

Servers are made up. No job sees anything of another but by artifact and where results are kept.
"""

from __future__ import annotations

import json
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from landspeed.session.tracking_config import ResultsKind
from tests.kits.farm.act_kit import needs_act
from tests.kits.farm.track_kit import records_in
from tests.kits.farm.track_world import NOTHING_NEW, TrackWorld, assert_fine, pretended_farm, world

__all__ = ["pretended_farm", "world"]  # fixtures
pytestmark = [needs_act, pytest.mark.slow]

COUNTED = ("warm", "cold")
ALL_JOBS = (
    *("plan", "build", "count", "confirm"),
    *("publish/results", "publish/site", "publish/deploy", "report"),
)


def keep(world: TrackWorld, how: ResultsKind) -> None:
    """Have the farm keep its results so, as docs/your-own-farm.md says."""
    variables = world.tracked.hub.variables
    variables["LANDSPEED_TRACK_KEEP"] = how.value
    if how is ResultsKind.DIRECTORY:
        kept(world).mkdir()
        variables["LANDSPEED_TRACK_DIRECTORY"] = str(kept(world))
        variables["LANDSPEED_RESULTS_LABEL"] = "landspeed-bench"
        variables["LANDSPEED_EXACT_LABELS"] = "self-hosted landspeed-bench"


def kept(world: TrackWorld) -> Path:
    """The directory that results are kept in, where they are."""
    return world.root / "kept"


def wholes(world: TrackWorld) -> list[Path]:
    """The artifacts that have all results, by the number of their run."""
    found = world.tracked.hub.stubs.glob("artifacts/*/landspeed-results/landspeed-results.tar")
    return sorted(found, key=lambda path: int(path.parent.parent.name))


def records(world: TrackWorld, how: ResultsKind, scratch: Path) -> Counter[tuple[Any, ...]]:
    """How many records are kept of each commit, warm and cold."""
    directory = kept(world)
    if how is ResultsKind.ARTIFACT:
        newest = wholes(world)[-1]
        directory = scratch / newest.parent.parent.name
        with tarfile.open(newest) as tar:
            tar.extractall(directory)  # of our own making
    return records_in(directory, ("commit", "buffers"))


def drawn(world: TrackWorld) -> set[str]:
    """The commits that have a dot on the site that was deployed."""
    index = json.loads((world.tracked.site / "index.json").read_text())
    dots = {
        str(row[0])
        for path in world.tracked.site.glob("graphs/**/*track_instructions.json")
        for row in json.loads(path.read_text())
    }
    return {index["revision_to_hash"][dot] for dot in dots}


@pytest.mark.parametrize("how", [ResultsKind.ARTIFACT, ResultsKind.DIRECTORY])
def test_what_one_run_has_kept_the_next_one_finds_and_adds_to(world, tmp_path, how):
    tracked, farm = world.tracked, world.farm
    keep(world, how)
    first = tracked.track()
    assert_fine(first)
    assert first.jobs == dict.fromkeys(ALL_JOBS, "success")
    before, counted = records(world, how, tmp_path), world.deeds("count")
    assert before == {(commit, buffers): 1 for commit in farm.commits for buffers in COUNTED}
    assert drawn(world) == set(farm.commits)

    # by a mirror of the upstream that tells that something was pushed
    told = {"action": "landspeed-track", "client_payload": {}}
    idle = tracked.hub.run("track.yml", "repository_dispatch", payload=told)
    assert_fine(idle)
    assert idle.jobs == NOTHING_NEW
    assert "nothing new: everything tracked is measured" in idle.log("plan")
    assert world.deeds("count") == counted

    # one that costs more than what the first run has kept, and one on a branch of its own
    tracked.hub.variables["LANDSPEED_TRACK_BRANCHES"] = "master topic"
    world.commit(1)
    farm.upstream.git("checkout", "--quiet", "-b", "topic")
    world.commit(1)
    world.be(costs={"4": 1.01})
    second = tracked.track()
    assert_fine(second)
    after = records(world, how, tmp_path)
    assert before <= after
    assert {commit for commit, _ in after} == set(farm.commits)
    # the bisection counts its two ends for itself, whatever is kept of them, and the confirmation
    # warm, cold or both
    assert sum(after.values()) - 2 * len(farm.commits) in (4, 6)
    assert sum(world.deeds("count").values()) == sum(after.values())
    assert {world.deeds("count")[deed] for deed in counted if " 3 " not in deed} == {1}
    (issue,) = tracked.api.issues
    assert farm.commits[4][:10] in issue["title"]
    assert drawn(world) == set(farm.commits)
    assert tracked.git("branch") == ""  # nowhere else

    # by hand: the same site from what is kept, and nothing is kept again
    files, artifacts = tracked.site_files(), wholes(world)
    by_hand = tracked.hub.run("publish.yml")
    assert_fine(by_hand)
    assert by_hand.jobs == dict.fromkeys(("results", "site", "deploy"), "success")
    assert "nothing new to push" in by_hand.log("results")
    assert tracked.site_files() == files
    assert wholes(world) == artifacts
    assert records(world, how, tmp_path) == after
