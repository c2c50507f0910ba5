"""Templates: loaded once, whole or not there, and the same for every Run."""

from __future__ import annotations

import logging
import os
import shutil
from collections import namedtuple
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from base.build import Build
from base.errors import StorageError, UsageError
from base.paths import Paths
from benchmarks.clients.pgbench import Pgbench
from benchmarks.data.template_store import TEMPLATE_JSON
from benchmarks.data.templates import Templates, template_limit
from benchmarks.measure import templates
from benchmarks.server.cluster import Cluster
from benchmarks.server.home import ServerHome
from tests.kits.servers.cluster_kit import SCALE, processes_in, server_paths

pytestmark = pytest.mark.postgres


@dataclass
class Kit:
    """A store of templates, a build for it, and what it logged."""

    store: Templates
    build: Build
    log: pytest.LogCaptureFixture

    def query(self, text: str, *, writes: bool, keep: bool) -> object:
        """The answer to *text* on a leased data directory."""
        with (
            self.store.home.run_directory() as run,
            self.store.lease(self.build, SCALE, writes=writes) as data,
            Cluster(build=self.build, data=data, run=run, settings={}, keep=keep) as cluster,
            cluster.connect() as connection,
        ):
            row = connection.execute(text.encode()).fetchone()
            assert row is not None
            return row[0]


@pytest.fixture(scope="module")
def paths() -> Iterator[Paths]:
    with server_paths() as found:
        yield found


@pytest.fixture
def kit(
    paths: Paths, newest_build: Build, pgbench_build: Build, caplog: pytest.LogCaptureFixture
) -> Kit:
    store = templates(paths, Pgbench(pgbench_build))
    kit = Kit(store=store, build=store.home.reachable(newest_build), log=caplog)
    caplog.set_level(logging.INFO, "benchmarks.data.templates")
    store.ensure(kit.build, SCALE)
    caplog.clear()
    return kit


def test_a_template_is_loaded_once(kit: Kit) -> None:
    kit.store.ensure(kit.build, SCALE)
    assert kit.log.messages == []


def test_a_template_is_vacuumed_and_frozen_and_was_shut_down(kit: Kit) -> None:
    template = kit.store.ensure(kit.build, SCALE)
    assert template.is_whole()
    count = "SELECT count(*) FROM pgbench_accounts"
    assert kit.query(count, writes=False, keep=True) == 100_000 * SCALE
    unfrozen = "SELECT age(relfrozenxid) FROM pg_class WHERE relname = 'pgbench_accounts'"
    assert int(str(kit.query(unfrozen, writes=False, keep=True))) < 500
    visible = "SELECT relallvisible - relpages FROM pg_class WHERE relname = 'pgbench_accounts'"
    assert kit.query(visible, writes=False, keep=True) == 0


def test_what_one_run_writes_the_next_does_not_see(kit: Kit) -> None:
    update = "UPDATE pgbench_accounts SET abalance = 7 RETURNING abalance"
    changed = "SELECT count(*) FROM pgbench_accounts WHERE abalance <> 0"
    assert kit.query(update, writes=True, keep=False) == 7
    assert kit.query(changed, writes=True, keep=False) == 0
    assert kit.query(changed, writes=False, keep=True) == 0
    assert kit.log.messages == []


def test_a_reader_that_was_killed_costs_a_new_load(kit: Kit) -> None:
    assert kit.query("SELECT 1", writes=False, keep=False) == 1
    assert kit.query("SELECT 1", writes=False, keep=True) == 1
    assert len(kit.log.messages) == 1


def test_a_working_copy_from_before_the_last_boot_is_made_anew(kit: Kit) -> None:
    template = kit.store.ensure(kit.build, SCALE)
    kit.query("SELECT 1", writes=True, keep=False)
    victim = template.work / "base" / "1" / "PG_VERSION"
    status = victim.stat()
    victim.write_bytes(b"x" * status.st_size)
    os.utime(victim, ns=(status.st_atime_ns, status.st_mtime_ns))
    (template.directory / "work.boot").write_text("another boot")
    kit.query("SELECT 1", writes=True, keep=False)
    assert victim.read_bytes() == (template.data / "base" / "1" / "PG_VERSION").read_bytes()


def test_a_template_without_its_proof_is_loaded_again(kit: Kit) -> None:
    template = kit.store.ensure(kit.build, SCALE)
    (template.directory / TEMPLATE_JSON).unlink()
    (template.data / "PG_VERSION").write_text("half written")
    kit.store.ensure(kit.build, SCALE)
    assert len(kit.log.messages) == 1
    assert template.is_whole()


def test_an_interrupted_load_leaves_nothing(
    kit: Kit, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Pgbench, "initialise", interrupt)
    before = sorted(kit.store.home.templates.glob("*/"))
    with pytest.raises(KeyboardInterrupt):
        kit.store.ensure(kit.build, SCALE + 1)
    assert sorted(kit.store.home.templates.glob("*/")) == before
    assert processes_in(paths.cache) == {}


def test_the_least_recently_used_template_makes_room(kit: Kit) -> None:
    old = kit.store.ensure(kit.build, SCALE)
    narrow = Templates(home=kit.store.home, client=kit.store.client, limit_bytes=1)
    leftover = kit.store.home.templates / "killed-while-loading"
    leftover.mkdir()
    new = narrow.ensure(kit.build, SCALE + 1)
    assert new.is_whole()
    assert not old.directory.exists()
    assert not leftover.exists()


def test_a_template_does_not_make_room_for_its_own_copy(kit: Kit) -> None:
    template = kit.store.ensure(kit.build, SCALE)
    shutil.rmtree(template.work, ignore_errors=True)
    narrow = Templates(home=kit.store.home, client=kit.store.client, limit_bytes=1)
    with narrow.lease(kit.build, SCALE, writes=True) as data:
        assert data.exists()
        assert template.is_whole()


def test_on_a_full_disk_a_copy_takes_the_room_of_other_templates(
    kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    template = kit.store.ensure(kit.build, SCALE)
    other = kit.store.ensure(kit.build, SCALE + 1).directory
    narrow = Templates(home=kit.store.home, client=kit.store.client, limit_bytes=1)
    usage = namedtuple("usage", "total used free")
    with kit.store.home.run_directory() as run:
        narrow.copy(kit.build, SCALE, run.path / "first")
        assert other.exists()  # the limit is one of templates
        monkeypatch.setattr(
            shutil, "disk_usage", lambda _: usage(10**12, 0, 0 if other.exists() else 10**12)
        )
        narrow.copy(kit.build, SCALE, run.path / "first")
        assert other.exists()  # only what has changed is copied again
        narrow.copy(kit.build, SCALE, run.path / "second")
        assert (run.path / "second" / "PG_VERSION").exists()
    assert template.is_whole()
    assert not other.exists()


def test_a_load_that_would_fill_the_disk_is_not_begun(
    kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 9 * 10**8, 10**8))
    with pytest.raises(StorageError, match="not enough disk space to load a template"):
        kit.store.ensure(kit.build, 1000)
    assert not list(kit.store.home.templates.glob("*s1000*/"))


def test_the_limit_is_a_number_of_gigabytes() -> None:
    assert template_limit({"LANDSPEED_TEMPLATES_GB": "7"}) == 7 * 10**9
    with pytest.raises(UsageError, match="LANDSPEED_TEMPLATES_GB"):
        template_limit({"LANDSPEED_TEMPLATES_GB": "lots"})


def test_another_users_home_is_refused(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "stat", lambda *_, **__: os.stat_result((0o40755, *[12345] * 9)))
    with pytest.raises(StorageError, match="belongs to another user"):
        ServerHome.open(paths)
