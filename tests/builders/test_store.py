"""The store: a proof or no Build, least recently used first out, nothing in use ever."""

from __future__ import annotations

import json
import os
import shutil
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.errors import StorageError, UsageError
from base.files import locked
from builders.store import Store, limit_from_environment
from tests.kits.builds.buildkit import (
    a_build,
    ended,
    eventually,
    fill,
    forked,
    remount_read_only,
    small_disk,
    stored,
)

LONG_AGO = 1_000_000_000.0


@pytest.fixture
def store(tmp_path):
    return Store(root=tmp_path / "builds", limit=2_500_000)


def names(store: Store) -> set[str]:
    return {build.identifier for build in store.all()}


def test_what_was_put_is_found_with_the_same_facts(store):
    put = stored(store, "one", used=LONG_AGO)
    assert store.find("one") == put
    assert put.prefix == store.root / "one"
    assert put.program("postgres").is_file()
    assert store.find("another") is None


def test_finding_a_build_marks_it_as_used(store):
    proof = stored(store, "one", used=LONG_AGO).prefix / "BUILD.json"
    store.find("one")
    assert proof.stat().st_mtime > LONG_AGO


def test_a_build_in_a_read_only_store_is_found(store):
    with small_disk(store.root.parent / "disk", kilobytes=4000):
        disk = Store(root=store.root.parent / "disk" / "builds", limit=store.limit)
        stored(disk, "one", used=LONG_AGO)
        remount_read_only(store.root.parent / "disk")
        assert disk.find("one") is not None


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"identifier": "one"}'])
def test_a_damaged_proof_is_no_build(store, damage):
    proof = stored(store, "one", used=LONG_AGO).prefix / "BUILD.json"
    proof.write_text(damage)
    stored(store, "two", used=LONG_AGO)
    assert store.find("one") is None
    assert names(store) == {"two"}


@given(st.data())
def test_a_proof_cut_short_anywhere_is_no_build(tmp_path_factory, data):
    store = Store(root=tmp_path_factory.getbasetemp() / "cut" / "builds", limit=0)
    if store.find("one") is None:
        shutil.rmtree(store.root.parent, ignore_errors=True)
        stored(store, "one", used=LONG_AGO)
    proof = store.root / "one" / "BUILD.json"
    whole = proof.read_text()
    proof.write_text(whole[: data.draw(st.integers(0, len(whole.rstrip()) - 1))])
    assert store.find("one") is None
    proof.write_text(whole)


def test_an_installed_server_without_proof_is_no_build(store):
    (stored(store, "one", used=LONG_AGO).prefix / "BUILD.json").unlink()
    assert store.find("one") is None
    assert store.all() == []


def test_a_build_put_again_replaces_what_was_there(store):
    old = stored(store, "one", used=LONG_AGO)
    (old.prefix / "leftover").touch()
    new = stored(store, "one", used=LONG_AGO)
    assert not (new.prefix / "leftover").exists()
    assert json.loads((new.prefix / "BUILD.json").read_text())["identifier"] == "one"


def test_a_full_store_is_one_clear_error_and_holds_no_half_build(tmp_path):
    with small_disk(tmp_path / "disk", kilobytes=64):
        store = Store(root=tmp_path / "disk" / "builds", limit=0)
        (tmp_path / "disk" / "one.stage").mkdir()
        fill(tmp_path / "disk")
        with pytest.raises(StorageError) as caught:
            store.put(tmp_path / "disk" / "one.stage", a_build("one"))
        assert "No space left on device" in caught.value.detail
        assert store.all() == []


# --- the limit -----------------------------------------------------------------------------


def test_the_least_recently_used_go_first_until_the_limit_holds(store):
    for age, name in enumerate(["fourth", "third", "second", "first"]):
        stored(store, name, used=LONG_AGO - age)
    assert store.trim(keep=set()) == ["first", "second"]
    assert names(store) == {"third", "fourth"}


def test_within_the_limit_nothing_goes(store):
    stored(store, "one", used=LONG_AGO)
    stored(store, "two", used=LONG_AGO)
    assert store.trim(keep=set()) == []


def test_what_was_just_built_stays_even_if_it_alone_is_too_large(store):
    stored(store, "large", used=LONG_AGO, megabytes=9)
    stored(store, "small", used=LONG_AGO + 1)
    assert store.trim(keep={"large"}) == ["small"]
    assert names(store) == {"large"}


def test_what_is_in_use_stays_whoever_uses_it(store, tmp_path):
    used = [stored(store, name, used=LONG_AGO) for name in ("one", "two")]
    for name in ("three", "four", "five"):
        stored(store, name, used=LONG_AGO + 1)

    def use() -> None:
        with store.in_use(used[1:]):
            (tmp_path / "using").touch()
            eventually(lambda: False, "being killed")

    with forked(use) as pid, store.in_use(used[:1]):
        eventually((tmp_path / "using").exists, "the other user")
        store.trim(keep=set())
        assert names(store) == {"one", "two"}
        os.kill(pid, 9)
        ended(pid)
    stored(store, "six", used=LONG_AGO + 2)
    assert store.trim(keep=set()) == ["one"]


def test_many_can_use_one_build_at_once(store):
    build = stored(store, "one", used=LONG_AGO)
    with store.in_use([build, build]), store.in_use([build]):
        pass


def test_an_interrupted_removal_leaves_no_build(store, monkeypatch):
    stored(store, "one", used=LONG_AGO, megabytes=9)

    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("builders.store.remove_tree", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.trim(keep=set())
    assert store.all() == []
    assert (store.root / "one" / "bin" / "postgres").exists()


def test_what_an_interruption_left_is_cleaned_away_unless_it_is_being_stored(store):
    for name in ("left", "being-stored"):
        (stored(store, name, used=LONG_AGO).prefix / "BUILD.json").unlink()
    with locked(store.lock("being-stored")):
        store.trim(keep=set())
    assert not (store.root / "left").exists()
    assert (store.root / "being-stored").exists()


def test_two_that_trim_at_once_both_end_well(store):
    for age in range(12):
        stored(store, f"build-{age}", used=LONG_AGO + age)
    trim = partial(store.trim, keep=set())
    with forked(trim) as one, forked(trim) as two:
        trim()
        assert (ended(one), ended(two)) == (0, 0)
    assert names(store) == {"build-10", "build-11"}


def test_the_limit_is_in_gigabytes_and_twenty_by_default(monkeypatch):
    monkeypatch.delenv("LANDSPEED_STORE_LIMIT", raising=False)
    assert limit_from_environment() == 20 * 10**9
    monkeypatch.setenv("LANDSPEED_STORE_LIMIT", "0.5")
    assert limit_from_environment() == 5 * 10**8


@pytest.mark.parametrize("text", ["much", "-1", "nan", "inf", "20 GB", "1e999"])
def test_a_limit_that_is_no_size_is_a_usage_error(monkeypatch, text):
    monkeypatch.setenv("LANDSPEED_STORE_LIMIT", text)
    with pytest.raises(UsageError) as caught:
        limit_from_environment()
    assert caught.value.message == f'invalid LANDSPEED_STORE_LIMIT: "{text}"'
    assert "gigabytes" in caught.value.hint
