"""track.yml, unmodified, under the real act, on made-up servers.

Each job has a cache of its own, as on a hosted runner: what one needs of another comes by artifact.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from landspeed.site.pages.frame import DATA
from tests.kits.farm.act_kit import CHECKOUT, needs_act
from tests.kits.farm.track_world import NOTHING_NEW, assert_fine, pretended_farm, track_world, world

__all__ = ["pretended_farm", "world"]  # fixtures
pytestmark = [needs_act, pytest.mark.slow]


def test_commits_are_built_counted_flagged_confirmed_bisected_told_and_what_is_repaired_is_closed(
    world,
):
    api = world.tracked.api
    world.be(costs={"2": 1.01}, same=[[0, 1]])
    run = world.tracked.track()
    assert_fine(run)
    assert "Debian" not in run.log("plan")  # these tests wait for no network
    assert run.jobs == dict.fromkeys(
        (
            *("plan", "build", "count", "confirm"),
            *("publish/results", "publish/site", "publish/deploy", "report"),
        ),
        "success",
    )
    assert len([cell for cell in run.cells if cell.job == "build"]) == 5
    assert set(world.deeds("build").values()) == {1}
    # 0 and 1 are one server, so the second is not counted. The confirmation and the bisection each
    # count the ends anew (warm or cold, where it is worse, which is in the noise here); where the
    # other was nominated too, the confirmation counts that as well.
    counted = world.deeds("count")
    worse, other = ("warm", "cold") if counted["count 0 read-only warm"] == 3 else ("cold", "warm")
    often = {worse: 3, other: counted[f"count 0 read-only {other}"]}
    assert often[other] in (1, 2)
    assert counted == {
        f"count {number} read-only {buffers}": often[buffers] if number < 3 else 1
        for number in (0, 2, 3)
        for buffers in ("warm", "cold")
    }
    culprit = world.farm.commits[2]
    told = (world.tracked.site / "regressions.xml").read_text()
    assert "instructions" in told
    assert culprit[:8] in told
    (machine,) = json.loads((world.tracked.site / DATA / "status.json").read_text())["machines"]
    assert (machine["queue"]["due"], machine["queue"]["targets"]) == (0, [])  # all is measured
    (issue,) = api.issues
    metric = "instructions" if worse == "warm" else "instructions_cold"
    assert issue["title"] == f"+1.00 % {metric} (read-only): {culprit[:10]} `commit 2`"
    assert f"by commit {culprit} `commit 2`**" in issue["body"]
    assert "The bisection" in issue["body"]

    before = len(api.calls)
    again = world.tracked.track()
    assert_fine(again)
    assert again.jobs == NOTHING_NEW
    assert "nothing new: everything tracked is measured" in again.log("plan")
    assert len(api.calls) - before == 3

    world.commit(1)
    world.be(costs={"2": 1.01, "4": 1 / 1.01})
    repaired = world.tracked.track()
    assert_fine(repaired)
    assert issue["state"] == "closed"
    assert f"**Repaired by {world.farm.commits[4]} `commit 4`**" in issue["body"]
    # warm, cold or both were counted again to confirm the repair
    assert set(world.deeds("count 4").values()) in ({1, 2}, {2})


def test_the_site_is_made_from_the_last_one_and_of_a_wrong_one_nothing_is_taken(world, tmp_path):
    tracked, renewed = world.tracked, "publishing only what has changed"
    first = tracked.track()
    assert_fine(first)
    assert renewed not in first.log("publish/site")
    world.farm.clock = 2_000_000_000  # newer than all releases: nothing has another number for it
    world.commit(1)
    second = tracked.track()
    assert_fine(second)
    assert renewed in second.log("publish/site")
    site = tracked.site_files()
    assert world.farm.commits[4] in site["index.json"].decode()

    spoil(tracked.hub.stubs, tmp_path / "unpacked")
    third = tracked.hub.run("publish.yml")
    assert_fine(third)
    assert "publishing all of the site: the site is not the one that was made last" in third.log(
        "site"
    )
    assert tracked.site_files() == site


def spoil(stubs: Path, scratch: Path) -> None:
    """Have the cache with the last site say something else."""
    newest = max(stubs.glob("caches/site-*.tar"), key=lambda path: path.stat().st_mtime_ns)
    scratch.mkdir()
    subprocess.run(["tar", "-xf", newest, "-C", scratch], check=True)
    index = scratch / "site" / "index.json"
    index.write_text(index.read_text().replace('"project": "', '"project": "<script>'))
    subprocess.run(["tar", "--posix", "-cf", newest, "-C", scratch, *names_in(scratch)], check=True)
    shutil.rmtree(scratch)


def names_in(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir()]


def test_a_farm_is_what_its_page_says_to_set_and_to_dispatch(tmp_path, pretended_farm):
    page = (CHECKOUT / "docs/your-own-farm.md").read_text()
    table = page.partition("Set three variables")[2].partition("\n3. ")[0]
    variables = dict(re.findall(r"\| `(LANDSPEED_\w+)` \| `([^`]+)`", table))
    assert len(variables) == 3
    assert variables.pop("LANDSPEED_UPSTREAM").endswith("postgresql.git")
    with track_world(tmp_path, pretended_farm, track="") as farm:
        tracked, upstream = farm.tracked, farm.farm.upstream
        # but for the upstream, which is here, and with landspeed.toml as it is
        tracked.hub.variables |= variables
        farm.commit(2)
        upstream.git("checkout", "--quiet", "-b", "REL_18_STABLE", "HEAD~1")
        farm.commit(1)
        # the two schedules: counts, and times
        for measure, job in (("counts", "count"), ("times", "time")):
            run = tracked.hub.run("track.yml", inputs={"measure": measure})
            assert_fine(run)
            assert set(run.jobs.values()) == {"success"}
            assert {"plan", job, "report"} <= set(run.jobs)
        # two branches, and a release of those that landspeed.toml asks for
        assert set(tracked.records(("commit", "machine"))) >= {
            (commit, machine) for commit in farm.farm.commits for machine in ("counter", "bench-1")
        }
        releases = {release for (release,) in tracked.records(("release",)) if release}
        assert len(releases) == 1
        assert tracked.git("branch", "--format=%(refname:short)") == "results"
        found = (tracked.site / "index.json").read_text()
        assert all(commit in found for commit in farm.farm.commits)
        assert tracked.api.issues == []
        # and from then on its schedule
        assert tracked.track().jobs == NOTHING_NEW
