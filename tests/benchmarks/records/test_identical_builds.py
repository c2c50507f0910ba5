"""Commits that install the very same files share their samples, and all of them are drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from base.build import Origin
from benchmarks.records.identical_builds import IdenticalBuild
from benchmarks.records.record import Record
from benchmarks.records.store import RecordStore
from landspeed.farm.merge import merge_results
from landspeed.results.point_query import parse_point
from landspeed.results.points import Dots
from landspeed.results.show import find_points
from tests.kits.made_up.synthetic import START, Point, record

DIGEST = "e" * 64
A, B = (digit * 40 for digit in "ab")


def run(commit: str, number: int, latency: float = 1.0, digest: str = DIGEST) -> dict[str, Any]:
    """A record of *commit*, whose Build has *digest*."""
    point = Point(release=None, commit=commit, latency_ms=latency)
    made = record(point, number=number, at=START.replace(second=number))
    return made | {"build": made["build"] | {"digest": digest}}


def origin(commit: str) -> Origin:
    return Origin(release=None, commit=commit, tree="c" * 40, date="2026-01-01T00:00:00+00:00")


def noted(commit: str, digest: str = DIGEST) -> IdenticalBuild:
    return IdenticalBuild(digest=digest, origin=origin(commit))


@pytest.fixture
def store(tmp_path: Path) -> RecordStore:
    """Two runs of A."""
    made = RecordStore(tmp_path / "records")
    for number in (1, 2):
        made.add(Record.from_json(run(A, number)))
    return made


def drawn(store: RecordStore) -> dict[str, list[str]]:
    """The samples' ids, cut to what tells them apart, and the commit of each dot."""
    found = Dots(store.table(), store.identical_builds.read(IdenticalBuild))
    return {
        str(dot.origin.commit)[0]: [dot.last_id, str(len(dot.samples["latency_ms"]))]
        for dot in found
    }


def test_a_twin_is_drawn_with_the_samples_of_the_one_that_was_measured(store):
    alone = drawn(store)
    assert alone.keys() == {"a"}
    store.identical_builds.add(noted(B))
    assert drawn(store) == {"a": alone["a"], "b": alone["a"]}


@pytest.mark.parametrize(("trees", "newest"), [("cd", "d"), ("cdc", "c")])
def test_what_came_in_several_ways_is_one_origin_as_the_newest_record_has_it(
    tmp_path: Path, trees: str, newest: str
) -> None:
    store = RecordStore(tmp_path / "records")
    for number, tree in enumerate(trees, start=1):
        made = run(A, number)
        origin = made["build"]["origin"] | {"tree": tree * 40}
        store.add(Record.from_json(made | {"build": made["build"] | {"origin": origin}}))
    (found,) = Dots(store.table()).servers[DIGEST].values()
    assert found.tree == newest * 40


def test_a_twin_is_shown_by_its_own_name(store):
    store.identical_builds.add(noted(B))
    query = parse_point(B[:10], lambda _: None)
    (shown,) = find_points(store.table(), query, store.identical_builds.read(IdenticalBuild))
    assert shown.name.startswith(B[:10])
    assert len(shown.runs) == 2
    (one,) = find_points(
        store.table(),
        parse_point(f"run:{shown.runs[0].id}", lambda _: None),
        store.identical_builds.read(IdenticalBuild),
    )
    assert one.name.startswith(A[:10])


def test_runs_of_two_commits_that_are_one_server_are_samples_of_both(store):
    store.add(Record.from_json(run(B, 3)))
    found = drawn(store)
    assert found["a"] == found["b"]
    assert found["a"][1] == "3"


def test_another_server_has_no_part_in_it(store):
    store.add(Record.from_json(run(B, 3, digest="f" * 64)))
    store.identical_builds.add(noted("d" * 40, digest="0" * 64))
    assert {commit: count for commit, (_, count) in drawn(store).items()} == {"a": "2", "b": "1"}


def test_the_same_twin_is_kept_once_and_merged_by_copying(store, tmp_path):
    store.identical_builds.add(noted(B))
    store.identical_builds.add(noted(B))
    assert store.identical_builds.read(IdenticalBuild) == [
        IdenticalBuild(digest=DIGEST, origin=origin(B))
    ]
    store.seal()
    other = RecordStore(tmp_path / "other" / "records")
    assert merge_results(store.root.parent, other.root.parent) == 2
    assert merge_results(store.root.parent, other.root.parent) == 0
    assert drawn(other) == drawn(store)


def test_a_damaged_note_is_set_aside_with_a_warning_that_names_it(store, caplog):
    store.identical_builds.add(noted(B))
    (path,) = (store.root / "twins").iterdir()
    path.write_text("{")
    assert store.identical_builds.read(IdenticalBuild) == []
    assert str(path) in caplog.text
