"""Clusters of a real PostgreSQL: private, ours, and gone when they are stopped."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from base.build import Build, Origin
from base.confinement import can_confine
from base.errors import ClusterError, StorageError
from base.paths import Paths
from benchmarks.machine.processes import Process, cpu_seconds
from benchmarks.server.cluster import (
    Cluster,
    initdb,
    is_ours,
    is_shut_down,
    server_error,
    setting_defaults,
)
from benchmarks.server.endpoint import DATABASE, SUPERUSER
from benchmarks.server.home import RunDirectory, ServerHome
from benchmarks.server.pooler import pooler_reason, pooling
from tests.kits.made_up.stand_ins import made_up_build
from tests.kits.servers.cluster_kit import is_root, processes_in, server_paths

pytestmark = pytest.mark.postgres


@pytest.fixture
def paths() -> Iterator[Paths]:
    with server_paths() as found:
        yield found


@contextmanager
def fresh(
    home: ServerHome, build: Build, *, keep: bool = False, confined: bool = False, **settings: str
) -> Iterator[Cluster]:
    """A running cluster that was just initialised."""
    reachable = home.reachable(build)
    with home.run_directory() as run:
        data = run.path / "fresh"
        initdb(reachable, data, run)
        with Cluster(
            build=reachable, data=data, run=run, settings=settings, keep=keep, confined=confined
        ) as cluster:
            yield cluster


def ask(cluster: Cluster, query: str) -> object:
    with cluster.connect() as connection:
        row = connection.execute(query.encode()).fetchone()
        assert row is not None
        return row[0]


def test_a_cluster_answers_with_its_profiles_settings_and_leaves_nothing(
    paths: Paths, newest_build: Build
) -> None:
    home = ServerHome.open(paths)
    with fresh(home, newest_build, shared_buffers="16MB") as cluster:
        assert ask(cluster, "SHOW shared_buffers") == "16MB"
        assert ask(cluster, "SHOW server_encoding") == "UTF8"
        assert ask(cluster, "SHOW lc_messages") == "C"
        assert str(newest_build.version).startswith(str(ask(cluster, "SHOW server_version")))
        assert cluster.host.stat().st_mode & 0o777 == 0o700
        before = cluster.cpu_seconds()
        ask(cluster, "SELECT count(*) FROM generate_series(1, 1000000)")
        assert cluster.cpu_seconds() > before
    assert processes_in(paths.cache) == {}
    assert list(home.runs.iterdir()) == []


def test_defaults_are_those_of_a_fresh_cluster(paths: Paths, newest_build: Build) -> None:
    defaults = setting_defaults(newest_build, ServerHome.open(paths))
    # --describe-config says 0, FALSE and nothing
    assert defaults["work_mem"] == ("integer kB", "4096")
    assert defaults["enable_sort"] == ("bool", "on")
    assert defaults["data_checksums"] == ("bool", "on")
    assert "server_version_num" not in defaults
    assert "search_path" not in defaults


def test_the_server_does_not_run_as_root(paths: Paths, newest_build: Build) -> None:
    with fresh(ServerHome.open(paths), newest_build) as cluster:
        assert Path(f"/proc/{cluster.pid}").stat().st_uid != 0
        groups = Path(f"/proc/{cluster.pid}/status").read_text()
        assert not is_root() or "Groups:\t \n" in groups


def test_a_cluster_that_is_kept_is_shut_down_and_one_that_is_not_is_just_ended(
    paths: Paths, newest_build: Build
) -> None:
    home = ServerHome.open(paths)
    for keep in (True, False):
        with ExitStack() as stack:
            reachable = home.reachable(newest_build)
            run = stack.enter_context(home.run_directory())
            data = run.path / "fresh"
            initdb(reachable, data, run)
            assert is_ours(data)
            assert is_shut_down(data)
            with Cluster(build=reachable, data=data, run=run, settings={}, keep=keep):
                assert not is_shut_down(data)
            assert is_shut_down(data) == keep


def test_a_backend_that_dies_is_one_error_for_whoever_asks_it(
    paths: Paths, newest_build: Build
) -> None:
    with fresh(ServerHome.open(paths), newest_build) as cluster, cluster.connect() as connection:
        os.kill(connection.info.backend_pid, signal.SIGKILL)
        with pytest.raises(ClusterError, match="died") as caught, cluster.answering():
            connection.execute("SELECT pg_sleep(60)")
        assert "server closed the connection" in caught.value.detail


def test_two_clusters_at_once_do_not_clash(paths: Paths, newest_build: Build) -> None:
    home = ServerHome.open(paths)
    with fresh(home, newest_build) as one, fresh(home, newest_build) as other:
        assert one.host != other.host
        assert ask(one, "SHOW data_directory") != ask(other, "SHOW data_directory")


@pytest.mark.skipif(not can_confine(), reason="bubblewrap is not installed or allowed")
@pytest.mark.parametrize("confined", [True, False])
def test_a_confined_server_writes_only_its_data_and_reaches_no_network(
    paths: Paths,
    newest_build: Build,
    monkeypatch: pytest.MonkeyPatch,
    confined: bool,
) -> None:
    """Each is possible for a server that is not confined, or the test would prove nothing."""
    victim = Path(tempfile.mkdtemp(prefix="ls-victim-", dir="/var/tmp"))
    monkeypatch.setenv("HOME", str(victim))
    (victim / "token").write_text("secret")
    for path in (victim, victim / "token"):
        path.chmod(0o777)
    tries = {
        "write": f"echo planted > {victim}/bashrc",
        "read": f"cp {victim}/token ./stolen",
        "data": "touch ./own",
    }
    try:
        with (
            socket.create_server(("127.0.0.1", 0)) as listening,
            fresh(ServerHome.open(paths), newest_build, confined=confined) as cluster,
            cluster.connect() as connection,
        ):
            port = listening.getsockname()[1]
            # of the run directory it has the sockets alone: a link there might be followed
            cluster.run.path.chmod(0o777)
            tries["run"] = f"touch {cluster.run.path}/planted"
            tries["network"] = f"bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'"
            possible = set()
            for name, command in tries.items():
                with suppress(psycopg.Error):
                    # cat: a program that ends before the row is written to it is an error too
                    program = f"cat > /dev/null; {command}"
                    connection.execute(f"COPY (SELECT 1) TO PROGRAM $${program}$$".encode())
                    possible.add(name)
            assert ask(cluster, "SHOW dynamic_shared_memory_type") == "posix"
            # its processes have the ids that we know them by
            assert Path(f"/proc/{cluster.pid}/cwd").samefile(cluster.data)
        # a home of its own is empty, and gone with the server
        assert possible - {"write"} == ({"data"} if confined else set(tries) - {"write"})
        assert (victim / "bashrc").exists() is not confined
    finally:
        shutil.rmtree(victim)
    assert processes_in(paths.cache) == {}


def test_a_port_in_use_does_not_matter(paths: Paths, newest_build: Build) -> None:
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with suppress(OSError):  # another server may have it: as good
            taken.bind(("127.0.0.1", 5432))
            taken.listen()
        with fresh(ServerHome.open(paths), newest_build) as cluster:
            assert ask(cluster, "SHOW listen_addresses") == ""


def test_what_the_callers_environment_says_of_postgresql_is_not_seen(
    paths: Paths, newest_build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGDATA", "/nowhere")
    monkeypatch.setenv("PGPORT", "1")
    monkeypatch.setenv("PGHOST", "db.example.org")
    monkeypatch.setenv("PGSERVICE", "production")
    monkeypatch.setenv("PGOPTIONS", "-c work_mem=64kB")
    with fresh(ServerHome.open(paths), newest_build) as cluster:
        assert ask(cluster, "SHOW data_directory") == str(cluster.data)
        assert ask(cluster, "SHOW work_mem") == "4MB"


def test_threads_that_forget_the_environment_at_once_do_not_disturb_each_other(
    tmp_path: Path, newest_build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Forgotten(dict[str, str]):
        def __iter__(self) -> Iterator[str]:
            yield "PGHOST"  # another thread forgets it now

    run = RunDirectory(path=tmp_path, sockets=tmp_path, user=None)
    cluster = Cluster(build=newest_build, data=tmp_path, run=run, settings={}, keep=False)
    monkeypatch.setattr(os, "environ", Forgotten())
    with pytest.raises(ClusterError, match="died"):
        cluster.connect()


def test_of_a_log_that_a_server_floods_the_end_is_read_and_every_start_counts(
    tmp_path: Path,
) -> None:
    ready = "LOG:  database system is ready to accept connections\n"
    run = RunDirectory(path=tmp_path, sockets=tmp_path, user=None)
    origin = Origin(release="18.1", commit=None, tree="0" * 40, date="2025-01-01")
    build = made_up_build("18.1-bs8", origin)
    cluster = Cluster(build=build, data=tmp_path, run=run, settings={}, keep=False)
    assert cluster.log_text() == ""
    with subprocess.Popen(["sleep", "60"]) as server:
        cluster._server = server
        run.log.write_text(ready + f"LOG:  statement: {'x' * 1000}\n" * 20_000 + "PANIC:  end\n")
        assert cluster.is_well
        assert cluster.log_text().endswith("PANIC:  end\n")
        assert len(cluster.log_text()) == 16 << 20
        with run.log.open("a") as log:
            log.write(ready)
        assert not cluster.is_well
        server.kill()


def test_a_data_directory_landspeed_did_not_make_is_refused_and_left_alone(
    paths: Paths, newest_build: Build
) -> None:
    home = ServerHome.open(paths)
    with home.run_directory() as run:
        reachable = home.reachable(newest_build)
        data = run.path / "foreign"
        initdb(reachable, data, run)
        (data / "landspeed.cluster").unlink()
        before = sorted((p.name, p.stat().st_mtime_ns) for p in data.iterdir())
        cluster = Cluster(build=reachable, data=data, run=run, settings={}, keep=True)
        with pytest.raises(ClusterError, match="is not a cluster made by landspeed"):
            cluster.start()
        assert sorted((p.name, p.stat().st_mtime_ns) for p in data.iterdir()) == before


def test_a_directory_that_exists_is_not_initialised(paths: Paths, newest_build: Build) -> None:
    with ServerHome.open(paths).run_directory() as run:
        (run.path / "data").mkdir()
        with pytest.raises(StorageError, match="File exists"):
            initdb(newest_build, run.path / "data", run)


def test_a_server_that_cannot_start_says_why(paths: Paths, newest_build: Build) -> None:
    home = ServerHome.open(paths)
    with (
        pytest.raises(ClusterError, match="died") as caught,
        fresh(home, newest_build, no_such_setting="1"),
    ):
        pass
    assert "no_such_setting" in caught.value.detail
    assert processes_in(paths.cache) == {}


def test_a_cache_with_a_long_path_gets_a_short_socket_directory(
    paths: Paths, newest_build: Build
) -> None:
    long = paths.cache / ("x" * 100)
    home = ServerHome.open(Paths(cache=long, project=long))
    with fresh(home, newest_build) as cluster:
        sockets = cluster.host
        assert len(str(sockets)) < 50
        assert sockets.stat().st_mode & 0o777 == 0o700
        assert ask(cluster, "SELECT 1") == 1
    assert not sockets.exists()


@pytest.mark.skipif(pooler_reason() is not None, reason="pgbouncer is not installed")
def test_data_may_lie_in_a_place_whose_name_has_spaces_and_quotes(
    paths: Paths, newest_build: Build
) -> None:
    home = ServerHome.open(paths, paths.cache / "it's a place")
    with (
        fresh(home, newest_build) as cluster,
        pooling(cluster.run, cores=1, max_connections=9) as pooler,
        psycopg.connect(host=str(pooler.host), user=SUPERUSER, dbname=DATABASE) as connection,
    ):
        assert connection.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.skipif(not is_root(), reason="only root's servers run as another user")
def test_a_build_the_servers_user_cannot_reach_is_run_from_a_copy_made_once(
    paths: Paths, newest_build: Build, tmp_path: Path
) -> None:
    tmp_path.chmod(0o700)
    prefix = tmp_path / "prefix"
    shutil.copytree(newest_build.prefix, prefix, symlinks=True)
    hidden = Build.load(prefix)
    home = ServerHome.open(paths)
    with fresh(home, hidden) as cluster:
        assert cluster.build.prefix.is_relative_to(paths.cache)
        assert ask(cluster, "SELECT 1") == 1
        first = (cluster.build.prefix / "bin").stat().st_ino
    assert (home.reachable(hidden).prefix / "bin").stat().st_ino == first


@pytest.mark.skipif(not is_root(), reason="only root's servers run as another user")
def test_a_home_the_servers_user_cannot_enter_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setenv("LANDSPEED_DATA", str(tmp_path / "data"))
    with pytest.raises(StorageError, match="cannot enter"):
        ServerHome.open(Paths(cache=tmp_path, project=tmp_path))


@contextmanager
def small_disk(where: Path, megabytes: int) -> Iterator[None]:
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "tmpfs", str(where)]
    if not is_root() or subprocess.run(mount, check=False).returncode != 0:
        pytest.skip("only root may mount a small tmpfs")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(where)], check=True)


def test_a_full_disk_is_one_clear_error(paths: Paths, newest_build: Build) -> None:
    with small_disk(paths.cache, 20):
        with (
            pytest.raises(StorageError) as caught,
            fresh(ServerHome.open(paths), newest_build),
        ):
            pass
        assert "the disk is full" in caught.value.message
        assert "LANDSPEED_DATA" in caught.value.hint
        assert processes_in(paths.cache) == {}


@pytest.mark.parametrize(
    ("what", "hint"),
    [
        ("create semaphores", "kernel.sem"),
        ('resize shared memory segment "/PostgreSQL.307" to 8388608 bytes', "--shm-size"),
    ],
)
def test_a_kernel_limit_is_no_full_disk_and_gets_a_hint(what: str, hint: str) -> None:
    error = server_error("it failed", f"FATAL:  could not {what}: No space left on device")
    assert isinstance(error, ClusterError)
    assert hint in error.hint


def test_shared_memory_in_a_file_of_the_data_is_on_the_disk() -> None:
    what = 'resize shared memory segment "pg_dynshmem/mmap.307" to 8388608 bytes'
    error = server_error("it failed", f"FATAL:  could not {what}: No space left on device")
    assert isinstance(error, StorageError)


def test_a_process_name_with_spaces_and_parentheses_is_read() -> None:
    line = "7 (a) b (c) S 1 7 7 0 -1 4194304 9 0 0 0 250 50 30 20 20 0 1 0 1 1 1"
    assert Process.parse(line) == Process(parent=1, state="S", own_seconds=3.0, reaped_seconds=0.5)


def test_the_cpu_seconds_of_a_process_that_is_gone_are_0() -> None:
    assert cpu_seconds(2**30) == 0.0


def test_a_run_directory_whose_landspeed_is_dead_is_removed(paths: Paths) -> None:
    home = ServerHome.open(paths)
    home.runs.mkdir()
    (home.runs / "left").mkdir()
    (home.runs / "left" / "server.log").write_text("")
    with home.run_directory() as alive, home.run_directory() as run:
        assert isinstance(run, RunDirectory)
        assert alive.path.exists()
        assert not (home.runs / "left").exists()
