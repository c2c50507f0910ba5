"""What track has measured is on the site with its branch, whatever the branches are called."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from landspeed.site.update import can_be_drawn
from tests.kits.farm.farm_kit import Farm
from tests.kits.made_up.synthetic_project import CHECKOUT, without_environments

pytestmark = pytest.mark.slow

TRACK = """branches = ["master", "team/*"]
releases = ""
modes = ["read-only"]"""


@pytest.fixture
def farm(tmp_path: Path) -> Farm:
    """master, a stable branch, one that a fork's team watches and one that nobody does."""
    farm = Farm.make(tmp_path, commits=3, track=TRACK)
    config = without_environments((CHECKOUT / "asv.conf.json").read_text())
    (farm.project / "asv.conf.json").write_text(config)
    for name in ("REL_17_STABLE", "team/faster", "scratch"):
        farm.upstream.git("checkout", "--quiet", "-b", name, "master")
        farm.commit(f"on {name}")
    return farm


def drawn(farm: Farm) -> Iterator[tuple[str, int]]:
    """The branches of the site, and how many commits each has a dot at."""
    site = farm.paths.site
    for branch in json.loads((site / "index.json").read_text())["params"]["branch"]:
        name = branch.replace("/", "_")
        graphs = site.glob(f"graphs/**/branch-{name}/**/read_only.track_instructions.json")
        yield branch, sum(len(json.loads(graph.read_text())) for graph in graphs)


def test_watched_and_stable_branches_are_drawn_and_others_are_not(farm: Farm) -> None:
    farm.landspeed("farm", "plan", "--json")  # fetches, as the first step of track does
    farm.count(farm.commits, modes=["read-only"])
    told = farm.landspeed("publish").stderr
    assert dict(drawn(farm)) == {"REL_17_STABLE": 4, "master": 3, "team/faster": 4}
    assert f"not drawn: {farm.commits[-1][:10]}" in told


def test_a_commit_on_a_watched_branch_comes_to_the_last_site(farm: Farm) -> None:
    farm.landspeed("farm", "plan", "--json")
    farm.count(farm.commits[:-1], modes=["read-only"])
    farm.landspeed("publish")
    kept = {path.stat().st_ino for path in farm.paths.site.glob("graphs/**/*.json")}
    farm.upstream.git("checkout", "--quiet", "team/faster")
    farm.clock = 1_900_000_000  # younger than any release: asv's numbers of others stay
    farm.count([farm.commit("one more")], modes=["read-only"])
    farm.landspeed("farm", "plan", "--json")
    farm.landspeed("publish")
    assert dict(drawn(farm)) == {"REL_17_STABLE": 4, "master": 3, "team/faster": 5}
    assert kept & {path.stat().st_ino for path in farm.paths.site.glob("graphs/**/*.json")}


def test_a_branch_whose_name_asv_would_take_apart_is_not_drawn() -> None:
    assert can_be_drawn("team/faster")
    assert can_be_drawn("REL_17_STABLE")
    for name in ("it's", 'a"b', "two words", "back\\slash", "x;`touch`'", ""):
        assert not can_be_drawn(name), name
