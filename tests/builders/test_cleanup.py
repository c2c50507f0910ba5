"""What builds that failed left is there to be looked at, and not for ever."""

from __future__ import annotations

import os

import pytest

from base.build import Variant
from base.errors import BuildError
from base.files import locked
from builders import cleanup
from builders.cleanup import sweep
from tests.kits.builds.buildkit import build, builder, programs

DAY = 24 * 3600.0


@pytest.fixture
def trees(tmp_path, monkeypatch):
    """A directory of leftovers, where a file named "age" says how old, in days, one is."""

    def changed(paths):
        return 1e9 - max(float((path / "age").read_text()) for path in paths) * DAY

    monkeypatch.setattr(cleanup, "_changed", changed)
    monkeypatch.setattr(cleanup.time, "time", lambda: 1e9)
    return tmp_path / "trees"


def left(trees, identifier, *, days, endings=("", ".stage")):
    for ending in endings:
        (trees / f"{identifier}{ending}").mkdir(parents=True)
        (trees / f"{identifier}{ending}" / "age").write_text(str(days))
    return identifier


def name(number: int) -> str:
    return f"13.16-bs4-wal16-clang-{number:012x}"


def swept(trees):
    return sweep(trees, lambda identifier: trees / ".locks" / identifier)


def there(trees):
    return {path.name for path in trees.glob("[!.]*")}


def test_what_is_young_and_few_stays(trees):
    for number in range(3):
        left(trees, name(number), days=number)
    before = there(trees)
    assert swept(trees) == []
    assert there(trees) == before


def test_what_is_older_than_some_days_goes_with_its_stage_and_half_unpacked_trees(trees):
    left(trees, name(1), days=4, endings=("", ".stage", ".tree", ".unpack-77"))
    young = left(trees, name(2), days=1, endings=("",))
    assert swept(trees) == [name(1)]
    assert there(trees) == {young}


def test_of_many_the_newest_stay(trees):
    for number in range(7):
        left(trees, name(number), days=number / 10)
    assert swept(trees) == [name(4), name(5), name(6)]


def test_of_a_build_that_is_being_made_nothing_goes_and_it_does_not_count(trees):
    old = left(trees, name(9), days=9)
    for number in range(4):
        left(trees, name(number), days=number / 10)
    with locked(trees / ".locks" / old):
        assert swept(trees) == []


def test_what_has_no_builds_name_is_not_touched(trees):
    for other in ("kept", "13.16-bs8", "a-0123456789ab-b"):
        left(trees, other, days=99, endings=("",))
    assert swept(trees) == []


def test_a_build_that_begins_sweeps_and_a_tree_unpacked_a_moment_ago_is_not_old(
    tmp_path, monkeypatch
):
    """Unpacked files have the day of their release: that is not how old a leftover is."""
    monkeypatch.setenv("PATH", f"{programs(tmp_path / 'bin')}:{os.environ['PATH']}")
    cache = tmp_path / "cache"
    with pytest.raises(BuildError):
        build(builder(cache, main="exit 1"))
    (failed,) = there(cache / "trees")
    os.utime(cache / "trees" / failed, (0, 0))
    other = cache / "trees" / name(1)
    other.mkdir()
    build(builder(cache), variant=Variant(blocksize=4))
    assert there(cache / "trees") == {failed, other.name}
    monkeypatch.setattr(cleanup, "_KEPT", 0)
    build(builder(cache), variant=Variant(blocksize=2))
    assert there(cache / "trees") == set()
