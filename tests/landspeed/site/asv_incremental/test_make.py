"""A site made from the last one equals the one that asv would make, file by file."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from base.build import Origin
from builders.source import Position
from landspeed.changepoints.detect import detect
from landspeed.results.points import Dots
from landspeed.site.asv_changepoints import write_steps
from landspeed.site.asv_incremental.make import IncrementalSite
from landspeed.site.asv_incremental.manifest import SiteManifest
from landspeed.site.asv_incremental.refs import FullPublishNeededError
from landspeed.site.asv_results import derive
from landspeed.site.publish import incremental_site, publish
from tests.kits.made_up.synthetic import Point, record
from tests.kits.made_up.synthetic_project import Project
from tests.kits.made_up.synthetic_series import DAYS, level, line

pytestmark = pytest.mark.slow

NEWEST = list(DAYS)[-1]


def tree(site: Path) -> dict[str, Any]:
    """Every file of a site but for the moment it was made at."""
    found: dict[str, Any] = {
        path.relative_to(site).as_posix(): path.read_bytes()
        for path in site.rglob("*")
        if path.is_file()
    }
    info = json.loads(found.pop("info.json"))
    found["asv"] = info["asv-version"]
    if b"<entry" not in found["regressions.xml"]:
        del found["regressions.xml"]  # asv dates an empty feed by the clock
    return found


def manifest_path(project: Project) -> Path:
    return project.paths.project / ".site-publish" / "manifest.json"


def site_of(project: Project) -> IncrementalSite:
    directory = manifest_path(project).parent
    config = directory / "asv.conf.json"
    text = config.read_text()
    site = incremental_site(project.paths, directory, ())
    config.write_text(text)  # as the test has it
    return site


def same_as_by_asv(project: Project, branches: tuple[str, ...] = ()) -> bool:
    """Whether publishing keeps a file of the last site, and gives what asv makes of nothing."""
    before = {path.stat().st_ino for path in project.paths.site.glob("graphs/**/*.json")}
    site = publish(project.paths, branches)
    assert before & {path.stat().st_ino for path in site.glob("graphs/**/*.json")}, "asv made it"
    extended = tree(site)
    manifest_path(project).unlink()
    by_asv = tree(publish(project.paths, branches))
    assert extended.keys() == by_asv.keys()
    assert [name for name in extended if extended[name] != by_asv[name]] == []
    return True


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Two variants, one in two cells; of the two last releases nothing was measured."""
    project = Project.make(tmp_path_factory.mktemp("project"), DAYS)
    first = dict(list(level(0.1).items())[:-2])
    project.add(line(first, clients=1, runs=3))
    project.add(line(first, clients=4, runs=3))
    project.add(line(dict.fromkeys(first, 0.2), clients=1, blocksize=4, runs=3))
    project.derive()
    publish(project.paths)
    return project


def test_one_more_commit_and_more_runs_of_an_old_one_change_what_they_are_on(
    published: Project,
) -> None:
    published.add(line({NEWEST: 0.12}, clients=1, runs=3))
    published.add(line({"17.3": 0.1}, clients=4, runs=3))
    published.derive()
    assert same_as_by_asv(published)


def test_a_step_that_shows_now_changes_the_levels_of_tps_too_and_is_on_the_page(
    published: Project,
) -> None:
    published.add(line({"17.10": 0.15}, clients=1, runs=8))
    published.add(line({"17.10": 0.15}, clients=4, runs=8))
    published.derive()
    assert same_as_by_asv(published)
    page = json.loads((published.paths.site / "regressions.json").read_text())
    assert len(page["regressions"]) == 2


def test_nothing_new_is_the_same_site(published: Project) -> None:
    assert same_as_by_asv(published)


def test_where_files_cannot_be_linked_they_are_copied(
    published: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Path) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "hardlink_to", refused)
    last = SiteManifest.load(manifest_path(published))
    assert last is not None
    site_of(published).extend(last, tmp_path / "fresh")
    assert tree(tmp_path / "fresh") == tree(published.paths.site)


def test_a_site_that_was_moved_with_its_results_is_extended_there(
    published: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = replace(published.paths, project=tmp_path / "elsewhere")
    subprocess.run(["cp", "-a", published.paths.project, there.project], check=True)
    site = publish(there)
    assert capsys.readouterr().err == "publishing only what has changed\n"
    assert tree(site) == tree(published.paths.site)


def spoilt_cell(project: Project) -> None:
    project.add(line({"17.1": 0.1}, clients=64, runs=1))
    project.derive()


def spoilt_machine(project: Project) -> None:
    project.add(line({"17.1": 0.1}, machine="mammoth", runs=1))
    project.derive()


def spoilt_result(project: Project) -> None:
    next(project.layout.results.glob("elephant/*-*.json")).unlink()


def spoilt_site(project: Project) -> None:
    next(project.paths.site.glob("graphs/**/read_only.track_tps.json")).write_text("[]")


def spoilt_index(project: Project) -> None:
    (project.paths.site / "index.json").unlink()


def spoilt_by_stealth(project: Project) -> None:
    path = project.paths.site / "index.json"
    before = path.stat()
    path.write_text("{}".ljust(before.st_size))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def spoilt_configuration(project: Project) -> None:
    path = manifest_path(project).with_name("asv.conf.json")
    config = json.loads(path.read_text())
    path.write_text(json.dumps(config | {"project": "another"}))


def spoilt_plugin(project: Project) -> None:
    path = manifest_path(project).with_name("asv.conf.json")
    config = json.loads(path.read_text())
    path.write_text(json.dumps(config | {"plugins": [*config["plugins"], "another"]}))


def spoilt_tag(project: Project) -> None:
    git(project, "tag", "-d", "17.0")


def spoilt_history(project: Project) -> None:
    # of the two last nothing may be measured, whichever tests ran before
    git(project, "branch", "-f", "releases", "releases~3")


def spoilt_steps(project: Project) -> None:
    (project.layout.results / "steps.jsonl").unlink()


def damaged_result(project: Project) -> None:
    next(project.layout.results.glob("elephant/*-*.json")).write_text("{")


def git(project: Project, *arguments: str) -> None:
    subprocess.run(
        ["git", "-C", project.paths.project / "sources.git", *arguments],
        check=True,
        capture_output=True,
    )


@pytest.mark.parametrize(
    ("spoil", "because"),
    [
        (spoilt_cell, "benchmarks"),
        (spoilt_machine, "machines"),
        (spoilt_result, "results are gone"),
        (spoilt_site, "not the one that was made"),
        (spoilt_index, "not the one that was made"),
        (spoilt_by_stealth, "tags"),
        (spoilt_configuration, "configuration"),
        (spoilt_plugin, "plug-in"),
        (spoilt_tag, "tag"),
        (spoilt_history, "rewritten|order of commits"),
        (spoilt_steps, "steps"),
        (damaged_result, "JSON"),
    ],
)
def test_any_other_change_takes_a_full_publish(
    published: Project, tmp_path: Path, spoil: Callable[[Project], None], because: str
) -> None:
    kept = tmp_path / "kept"
    root = published.paths.project
    subprocess.run(["cp", "-a", root, kept], check=True)
    try:
        last = SiteManifest.load(manifest_path(published))
        assert last is not None
        site_of(published).extend(last, tmp_path / "fine")
        spoil(published)
        with pytest.raises(FullPublishNeededError, match=because):
            site_of(published).extend(last, tmp_path / "fresh")
    finally:
        shutil.rmtree(root)
        subprocess.run(["cp", "-a", kept, root], check=True)


def test_a_publish_killed_before_it_wrote_its_manifest_is_followed_by_a_full_one(
    published: Project,
) -> None:
    path = manifest_path(published)
    before = path.read_text()
    publish(published.paths)
    path.write_text(before)
    last = SiteManifest.load(path)
    assert last is not None
    with pytest.raises(FullPublishNeededError, match="not the one that was made"):
        site_of(published).extend(last, published.paths.project / "fresh")
    path.write_text(before[:100])
    assert SiteManifest.load(path) is None
    site = publish(published.paths)
    assert (site / "index.json").is_file()
    assert SiteManifest.load(path) is not None


BRANCHES = ("master", "REL_18_STABLE")


class Farm:
    """A project whose records are of commits on two branches, which part after the second."""

    def __init__(self, root: Path) -> None:
        self.project = Project.make(root, {"17.0": "2025-01-01"})
        self.branches: dict[str, list[str]] = {}
        self.grow("master", 3)
        self.grow("REL_18_STABLE", 1, parent=self.branches["master"][1])

    def grow(self, branch: str, count: int, parent: str = "") -> None:
        """*count* more commits on *branch*."""
        known = self.branches.setdefault(branch, [])
        for _ in range(count):
            at = 1_750_000_000 + 60 * sum(map(len, self.branches.values()))
            who = f"a <a@example.org> {at} +0000"
            text = f"commit refs/heads/{branch}\nauthor {who}\ncommitter {who}\ndata 1\nx\n"
            start = parent or (known[-1] if known else "")
            text += f"from {start}\n\n" if start else "\n"
            repository = ["git", "-C", str(self.project.paths.project / "sources.git")]
            subprocess.run([*repository, "fast-import", "--quiet"], input=text.encode(), check=True)
            tip = subprocess.run(
                [*repository, "rev-parse", branch], capture_output=True, text=True, check=True
            )
            known.append(tip.stdout.strip())
            parent = ""

    def measure(self, commits: Iterable[str], **point: Any) -> None:
        """Two cells of each of *commits*; derive what they give."""
        places = {
            one: Position(branch=branch, position=number)
            for branch, some in self.branches.items()
            for number, one in enumerate(some)
        }

        def commit_of(origin: Origin) -> tuple[str, int]:
            return str(origin.commit), 1000

        def place_of(origin: Origin) -> Position | None:
            return places.get(origin.commit or "")

        for commit in commits:
            facts = {"release": None, "commit": commit, "clients": 1, **point}
            self.project.add([record(Point(**facts)), record(Point(**facts | {"clients": 4}))])
        found = Dots(self.project.store.table())
        derive(found, self.project.layout, commit_of)
        write_steps(detect(found, place_of).changepoints, commit_of, self.project.layout.results)


def test_a_commit_of_several_branches_is_added_to_each(tmp_path: Path) -> None:
    farm = Farm(tmp_path)
    farm.measure(farm.branches["master"][1:2])
    farm.measure(farm.branches["REL_18_STABLE"])
    farm.measure(farm.branches["master"][2:], blocksize=4)
    publish(farm.project.paths, BRANCHES)
    farm.grow("master", 1)
    farm.measure(farm.branches["master"][-1:])
    # older than all that was measured, and on both branches
    farm.measure(farm.branches["master"][:1])
    assert same_as_by_asv(farm.project, BRANCHES)
    index = json.loads((farm.project.paths.site / "index.json").read_text())
    assert index["params"]["branch"] == list(BRANCHES)
    (both,) = farm.project.paths.site.glob(
        "graphs/**/blocksize-8/branch-REL_18_STABLE/**/read_only.track_latency.json"
    )
    assert len(json.loads(both.read_text())) == 3
