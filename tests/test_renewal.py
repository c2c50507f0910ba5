"""A site made from the last one is the one that asv would have made, file by file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from landspeed.publish import publish
from tests.synthetic_project import Project
from tests.synthetic_steps import DAYS, level, line


def quiet(_: str) -> None:
    pass


def tree(site: Path) -> dict[str, Any]:
    """Every file of a site but for the moment it was made at."""
    found: dict[str, Any] = {
        path.relative_to(site).as_posix(): path.read_bytes()
        for path in site.rglob("*")
        if path.is_file()
    }
    info = json.loads(found.pop("info.json"))
    found["asv"] = info["asv-version"]
    return found


def by_asv(project: Project) -> dict[str, Any]:
    """The site as asv makes it when there is nothing to go on from."""
    imprint = project.paths.project / ".site-publish" / "imprint.json"
    imprint.unlink(missing_ok=True)
    return tree(publish(project.paths, quiet))


def kept(site: Path) -> set[int]:
    return {path.stat().st_ino for path in site.glob("graphs/**/*.json")}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Two variants in two cells, all but the newest release measured and published."""
    project = Project.make(tmp_path, DAYS)
    first = dict(list(level(0.1, 0.12).items())[:-1])
    project.add(line(first, clients=1, runs=3))
    project.add(line(first, clients=4, runs=3))
    project.add(line(dict.fromkeys(first, 0.2), clients=1, blocksize=4, runs=3))
    project.derive()
    publish(project.paths, quiet)
    return project


def test_one_more_commit_changes_what_it_is_on_and_nothing_else(project: Project) -> None:
    site = project.paths.site
    before = kept(site)
    newest = list(DAYS)[-1]
    project.add(line({newest: 0.12}, clients=1, runs=3))
    project.derive()
    publish(project.paths, quiet)
    again = kept(site) & before
    assert again, "no file of the last site was kept: asv made it"
    renewed = tree(site)
    assert renewed == by_asv(project)
