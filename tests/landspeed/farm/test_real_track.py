"""The whole story, with real servers under the real workflow: a planted slowdown is found and told.

Three harmless commits and one that costs the executor 1 %. Counted, so that it says the same on
any machine. Then nothing is new, and then a commit repairs it. And then comes one that executes
no instruction more and waits: of it only the clock tells. The tests are one story, in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from base.build import Build
from base.paths import Paths
from tests.conftest import DATA
from tests.kits.builds.history_kit import Edit, History, append, function, substitute
from tests.kits.farm.act_kit import needs_act
from tests.kits.farm.forked import forked
from tests.kits.farm.track_kit import TIMES, Tracked, tracked
from tests.kits.farm.track_world import NOTHING_NEW, assert_fine
from tests.kits.site_check import browsing, served
from tests.landspeed.bisect.test_real_bisect import EXECUTOR, MORE, WORK, change, work

pytestmark = [pytest.mark.postgres, pytest.mark.browser, needs_act]

TRACK = """branches = ["master"]
depth = 5
releases = ""
modes = ["read-only"]"""
HARMLESS: tuple[Mapping[str, Edit], ...] = (
    {"doc/src/sgml/mvcc.sgml": append("\n")},
    {"src/backend/commands/vacuum.c": append(function("landspeed_harmless", 1))},
    {"src/backend/executor/nodeSeqscan.c": append("\n/* a remark */\n")},
)
PLANTED = "Do it $(twice) as `well` @everyone <b>| for good measure"
# Microseconds that each query rests, before and after the last commit: nearly all that it takes,
# so that a busy machine, on which the rest takes longer, changes little of the ratio.
REST, LONGER = 3_000, 15_000


def resting() -> Mapping[str, Edit]:
    """The first commit: the executor works in vain, and rests."""
    ((path, edit),) = work(WORK).items()
    call = f"\tlandspeed_work({WORK});\n"
    rest = substitute(call, f"{call}\tpg_usleep({REST});\n")
    return {path: lambda text: rest(edit(text))}


@pytest.fixture(scope="module")
def history(newest_build: Build, tmp_path_factory: pytest.TempPathFactory) -> History:
    root = tmp_path_factory.mktemp("upstream")
    made = History(root / "history.git", Paths.find().sources)
    made.begin(newest_build.origin.tree)
    release = made.git("commit-tree", newest_build.origin.tree, "-m", "release").strip()
    made.git("update-ref", f"refs/tags/{newest_build.version.tag}", release)
    made.commit("base", resting())
    for number, edits in enumerate(HARMLESS, start=1):
        made.commit(f"harmless {number}", edits)
    made.commit(PLANTED, change(WORK, MORE))
    return made


@pytest.fixture(scope="module")
def farm(
    history: History, newest_build: Build, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Tracked]:
    root = tmp_path_factory.mktemp("farm")
    with (
        forked("landspeed.cli.main") as command,
        tracked(root, history.directory, command, TRACK) as made,
    ):
        made.hub.environment |= {"LANDSPEED_CACHE": str(cache_of(root, newest_build))}
        made.hub.environment |= {"HOME": str(root), "LANDSPEED_MACHINE": "counter"}
        made.hub.environment |= {"LANDSPEED_DATA": str(DATA)}
        made.hub.environment |= {"LANDSPEED_MEASURE_LOCK": str(root / "measure.lock")}
        made.limit = 1500  # it builds servers
        yield made


def cache_of(root: Path, newest_build: Build) -> Path:
    """A cache of the farm's own that has what takes long: the client, and compiled objects."""
    cache, shared = root / "cache", Paths.find()
    (cache / "builds").mkdir(parents=True)
    (cache / "builds" / newest_build.identifier).symlink_to(newest_build.prefix)
    shared.ccache.mkdir(parents=True, exist_ok=True)
    (cache / "ccache").symlink_to(shared.ccache)
    return cache


def test_a_planted_slowdown_is_built_counted_flagged_confirmed_bisected_and_told(farm, history):
    run = farm.track()
    assert_fine(run)
    assert set(run.jobs.values()) == {"success"}
    assert {"plan", "build", "count", "confirm", "publish/results", "report"} <= set(run.jobs)
    culprit = history.tips[PLANTED]
    (issue,) = farm.api.issues
    print(issue["title"], issue["body"], sep="\n\n")
    assert f"{culprit[:10]} ``" in issue["title"]
    assert f"by commit {culprit} ``" in issue["body"]
    assert issue["state"] == "open"
    # the bisection says where the cost went, and what others wrote stays what they wrote
    assert "| `standard_ExecutorRun` |" in issue["body"]
    assert "execMain.c" in issue["body"]
    first = float(issue["title"].split(" %")[0])
    assert 0.5 < first < 2

    with served(farm.site) as address, browsing(address) as (page, complaints):
        page.goto(f"{address}/trends.html#/regressions")
        page.locator("#regressions-body table").first.wait_for()
        rows = page.locator("#regressions-body table:not(.ignored) tbody tr").all()
        cells = [row.locator("td").all_inner_texts() for row in rows]
    assert not complaints, complaints
    assert cells
    assert all(culprit.startswith(cell[2].strip()) for cell in cells), cells


def test_with_nothing_new_nothing_is_done_and_it_says_so(farm):
    before, tip = list(farm.api.writes()), farm.git("rev-parse", "results")
    records = farm.records(("commit",))
    run = farm.track()
    assert_fine(run)
    assert run.jobs == NOTHING_NEW
    assert "nothing new: everything tracked is measured" in run.log("plan")
    assert farm.api.writes() == before
    assert farm.git("rev-parse", "results") == tip
    # of each commit that is another server, warm and cold; the bisection counted its ends anew, and
    # the confirmation one or both
    assert set(records.values()) <= {2, 4, 5}, records


def test_a_commit_that_repairs_it_closes_the_issue(farm, history):
    repair = history.commit("Do it once", change(MORE, WORK))
    run = farm.track()
    assert_fine(run)
    (issue,) = farm.api.issues
    assert issue["state"] == "closed"
    assert f"**Repaired by {repair} `Do it once`**" in issue["body"]
    posts = [path for path in farm.api.writes() if path.startswith("POST")]
    assert posts == ["POST /repos/example/landspeed/issues"]
    assert farm.track().jobs == NOTHING_NEW


@pytest.mark.long
def test_what_only_the_clock_sees_is_timed_nominated_put_to_the_test_and_told(farm, history):
    repaired, before = history.tips["Do it once"], list(farm.api.issues)
    slow = history.commit(
        "Rest", {EXECUTOR: substitute(f"pg_usleep({REST}", f"pg_usleep({LONGER}")}
    )
    # a machine that takes the time; one rung, and many short runs, which a busy machine asks for
    farm.hub.variables |= {"LANDSPEED_TRACK_MACHINES": "bench-1", "LANDSPEED_TRACK_DEPTH": "2"}
    few = {"RUN_CLIENTS": 1, "RUN_SAMPLES": 8, "RUN_SECONDS": 1, "CONFIRM_SECONDS": 1}
    farm.hub.environment |= {f"LANDSPEED_{name}": str(value) for name, value in few.items()}
    counted = farm.track()
    assert_fine(counted)
    assert {cell.matrix.get("machine") for cell in counted.cells if cell.job == "confirm"} == {
        "counter"
    }
    farm.schedule = TIMES
    run = farm.track()
    assert_fine(run)
    assert set(run.jobs.values()) == {"success"}
    (timed,) = (cell for cell in run.cells if cell.job == "time")
    assert timed.matrix["machine"] == "bench-1"
    assert set(timed.matrix["targets"].split()) == {f"{repaired}:bs8", f"{slow}:bs8"}
    assert [c.matrix["machine"] for c in run.cells if c.job == "confirm"] == ["bench-1"]

    # the runs of the trend, and fresh ones in pairs that confirmed what it shows
    runs = farm.records(("preset", "machine", "commit"))
    assert {runs["quick", "bench-1", commit] for commit in (repaired, slow)} == {8}
    fresh = [runs["confirm", "bench-1", commit] for commit in (repaired, slow)]
    assert fresh[0] == fresh[1] > 3
    # which a count does not tell
    counts = farm.records(("commit", "buffers", "instructions"))
    warm = {commit: number for commit, buffers, number in counts if buffers == "warm"}
    others = [commit for commit, n in warm.items() if n != pytest.approx(warm[slow], rel=0.002)]
    assert others == [history.tips[PLANTED]]

    (issue,) = [one for one in farm.api.issues if one not in before]
    print(issue["title"], issue["body"], sep="\n\n")
    assert issue["state"] == "open"
    assert issue["title"].endswith(f"% latency (read-only): {slow[:10]} `Rest`")
    assert f"latency by commit {slow} `Rest`** on `master`." in issue["body"]
    assert "| `bench-1` | bs8 | `read-only/prepared/" in issue["body"]
    assert "| instructions |" not in issue["body"]
    assert f"landspeed compare {repaired[:10]} {slow[:10]} --metric latency" in issue["body"]
    assert "<summary>The bisection</summary>" in issue["body"]
    # nearly five times as much; on whatever machine, far from what noise does
    assert float(issue["title"].split(" %")[0]) > 100
    assert slow[:8] in (farm.site / "regressions.xml").read_text()
    assert farm.track().jobs == NOTHING_NEW
