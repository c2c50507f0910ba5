"""Room made from templates: the least recently used go first, and none in vain."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from base.errors import StorageError
from base.files import locked
from base.paths import Paths
from benchmarks.data.template_store import TEMPLATE_JSON, StoredTemplate, TemplateStore
from benchmarks.server.home import TEMPLATES
from landspeed.session.session import Session
from tests.kits.builds.buildkit import build, builder, programs, small_disk

_EACH = 100_000


@pytest.fixture
def paths(tmp_path, monkeypatch):
    """A cache on a disk of 500 kB."""
    cache = tmp_path / "cache"
    monkeypatch.setenv("LANDSPEED_DATA", str(cache / "data"))
    with small_disk(cache, kilobytes=500):
        yield Paths(cache=cache, project=tmp_path)


@pytest.fixture
def store(paths):
    return TemplateStore(root=paths.server_root / TEMPLATES)


def add(store: TemplateStore, name: str, *, used: int) -> StoredTemplate:
    """A template called *name* of 100 kB, last used at second *used*."""
    template = StoredTemplate(directory=store.root / name)
    template.data.mkdir(parents=True)
    (template.data / "heap").write_bytes(bytes(_EACH))
    (template.directory / TEMPLATE_JSON).write_text("{}")
    os.utime(template.directory / TEMPLATE_JSON, (used, used))
    return template


def names(store: TemplateStore) -> list[str]:
    return [template.directory.name for template in store.by_last_use()]


def test_only_as_many_are_removed_as_needed_the_least_recently_used_first(paths, store):
    for name, used in (("new", 3), ("old", 1), ("middle", 2)):
        add(store, name, used=used)
    assert names(store) == ["old", "middle", "new"]
    store.make_room(paths.cache, 100_000, "build")
    assert names(store) == ["old", "middle", "new"]
    store.make_room(paths.cache, 250_000, "build")
    assert names(store) == ["middle", "new"]


def test_what_a_template_takes_is_what_its_proof_says_and_its_working_copy(store):
    template = add(store, "one", used=1)
    measured = template.disk_bytes()
    assert measured >= _EACH
    (template.directory / TEMPLATE_JSON).write_text('{"bytes": 5}')
    assert template.disk_bytes() == 5
    template.work.mkdir()
    (template.work / "heap").write_bytes(bytes(_EACH))
    assert template.disk_bytes() == store.reclaimable_bytes() == 5 + measured


def test_what_is_in_use_stays_and_the_error_says_what_needs_the_room(paths, store):
    used = add(store, "used", used=1)
    add(store, "free", used=2)
    with locked(used.lock), pytest.raises(StorageError, match="not enough disk space to build 18"):
        store.make_room(paths.cache, 450_000, "build 18")
    assert names(store) == ["used"]


def test_nothing_is_removed_for_a_place_on_another_file_system(paths, store, tmp_path):
    add(store, "one", used=1)
    with pytest.raises(StorageError):
        store.make_room(tmp_path, 10**18, "build")
    store.make_room(tmp_path, 1, "build")
    assert names(store) == ["one"]


def test_without_any_template_the_disk_alone_decides(paths, store):
    store.make_room(paths.cache, 400_000, "build")
    with pytest.raises(StorageError):
        store.make_room(paths.cache, 600_000, "build")


def test_a_build_takes_the_room_of_data_that_earlier_commands_loaded(
    paths, store, tmp_path, monkeypatch
):
    """A long search loads data for each server: without this it ended when the disk was full."""
    monkeypatch.setenv("PATH", f"{programs(tmp_path / 'bin')}:{os.environ['PATH']}")
    monkeypatch.setattr("builders.builder._BUILD_BYTES", 300_000)
    for name, used in (("old", 1), ("middle", 2), ("new", 3)):
        add(store, name, used=used)
    alone = builder(paths.cache)
    with pytest.raises(StorageError, match="not enough disk space to build"):
        build(alone)
    made = build(replace(alone, make_room=Session(paths=paths).builder.make_room))
    assert Path(made.program("postgres")).exists()
    assert names(store) == ["new"]
