"""track.yml, unmodified, under the real act, on made-up servers.

Each job has a cache of its own, as on a hosted runner: what one needs of another comes by artifact.
"""

from __future__ import annotations

from tests.act_kit import needs_act
from tests.track_world import NOTHING_NEW, assert_fine, pretended_farm, world

__all__ = ["pretended_farm", "world"]  # fixtures
pytestmark = needs_act


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

    before = len(api.calls)
    again = world.tracked.track()
    assert_fine(again)
    assert again.jobs == NOTHING_NEW
    assert "nothing new: all that is watched is measured" in again.log("plan")
    assert len(api.calls) - before == 2

    world.commit(1)
    world.be(costs={"2": 1.01, "4": 1 / 1.01})
    repaired = world.tracked.track()
    assert_fine(repaired)
    assert issue["state"] == "closed"
    assert f"**Gone since {world.farm.commits[4]} `commit 4`**" in issue["body"]
    assert set(world.deeds("count 4").values()) == {1}
