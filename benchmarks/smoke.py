"""What a built server must do to count as one, tried by ``landspeed build --check``."""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

from base.build import Build, Variant
from base.errors import ClusterError, LandspeedError, MeasureError
from base.paths import Paths
from benchmarks.clients.pgbench import Pgbench
from benchmarks.machine.lock import measuring
from benchmarks.machine.machine import Machine
from benchmarks.measure import measure, templates
from benchmarks.server.cluster import Cluster, control_data, initdb, is_shut_down, known_settings
from benchmarks.server.configuration import Configuration
from benchmarks.server.home import RunDirectory, ServerHome
from benchmarks.workloads.scenario import Cell, Mode, Protocol, Scenario, Tier

SMOKE_CHECKS = (
    *("initdb", "start", "block_size", "wal_block_size", "segment_size", "psycopg", "stop"),
    *Mode,
)
"""The names of all checks, in the order in which they are made."""

_SCALE, _SECONDS, _CLIENTS = 1, 1, 2
_CONTROL_DATA = {
    "block_size": "Database block size",
    "wal_block_size": "WAL block size",
    "segment_size": "Blocks per segment of large relation",
}
# Without these nothing after them can be tried.
_NEEDED = ("initdb", "start")


@dataclass(frozen=True, kw_only=True)
class SmokeCheck:
    """One thing that a build must do as a server, and its result.

    ``seen`` is what was seen, an error's lines where it failed; ``ok`` is None where it
    could not be tried because something before it failed.
    """

    name: str
    ok: bool | None
    seen: str = ""

    def facts(self) -> dict[str, Any]:
        """Return the check as JSON can hold it."""
        return asdict(self)


def built_variant(build: Build, paths: Paths) -> Variant:
    """The Variant that the server of *build* was built in, from a cluster that is thrown away."""
    home = ServerHome.open(paths)
    server = home.reachable(build)
    with home.run_directory() as run:
        data = run.path / "cluster"
        initdb(server, data, run)
        said = control_data(server, data)
    sizes = {name: int(said[key]) for name, key in _CONTROL_DATA.items()}
    return Variant(
        blocksize=sizes["block_size"] // 2**10,
        wal_blocksize=sizes["wal_block_size"] // 2**10,
        segsize=sizes["segment_size"] * sizes["block_size"] // 2**30,
    )


def smoke_checks(
    *, build: Build, pgbench: Pgbench, machine: Machine, paths: Paths
) -> list[SmokeCheck]:
    """Make every check of *build*; one that needs a failed check is left out.

    The runs of pgbench are measured like any other, for one second at scale 1, and not recorded.
    """
    made: list[SmokeCheck] = []
    try:
        home = ServerHome.open(paths)
        server = home.reachable(build)
        with home.run_directory() as run:
            made += _attempted(_server_attempts(server, run))
    except LandspeedError as error:
        made = made or [SmokeCheck(name=SMOKE_CHECKS[0], ok=False, seen=str(error))]
    if all(trial.ok for trial in made if trial.name in _NEEDED):
        attempts = {
            mode.value: partial(
                _timed, mode, build=build, pgbench=pgbench, machine=machine, paths=paths
            )
            for mode in Mode
        }
        with templates(paths, pgbench).borrowed(build, _SCALE), measuring(wait=True):
            made += _attempted(attempts)
    names = {trial.name for trial in made}
    return made + [SmokeCheck(name=name, ok=None) for name in SMOKE_CHECKS if name not in names]


def _attempted(attempts: Mapping[str, Callable[[], str]]) -> list[SmokeCheck]:
    made: list[SmokeCheck] = []
    for name, attempt in attempts.items():
        try:
            made.append(SmokeCheck(name=name, ok=True, seen=attempt()))
        except LandspeedError as error:
            made.append(SmokeCheck(name=name, ok=False, seen=str(error)))
        except psycopg.Error as error:
            made.append(SmokeCheck(name=name, ok=False, seen=f"error:  {error}"))
        if not made[-1].ok and name in _NEEDED:
            break
    return made


def _server_attempts(build: Build, run: RunDirectory) -> Mapping[str, Callable[[], str]]:
    data = run.path / "cluster"
    cluster = Cluster(
        build=build,
        data=data,
        run=run,
        settings=Configuration.named("default").settings(known_settings(build), 0),
        keep=True,
        confined=True,
    )
    variant = build.variant
    sizes = {
        "block_size": variant.blocksize * 2**10,
        "wal_block_size": variant.wal_blocksize * 2**10,
        "segment_size": variant.segsize * 2**20 // variant.blocksize,
    }
    return {
        "initdb": partial(_initialised, build, data, run),
        "start": partial(_started, cluster),
        **{name: partial(_size, cluster, name, size) for name, size in sizes.items()},
        "psycopg": partial(_spoken, cluster),
        "stop": partial(_stopped, cluster),
    }


def _initialised(build: Build, data: Path, run: RunDirectory) -> str:
    initdb(build, data, run)
    return _owner(data)


def _started(cluster: Cluster) -> str:
    with ExitStack() as failing:
        failing.callback(cluster.stop, immediate=True)
        cluster.start()
        user = _owner(Path("/proc") / str(cluster.pid))
        failing.pop_all()
    return user


def _owner(path: Path) -> str:
    """The name of the user whose *path* is; ClusterError if it is root."""
    user = path.stat().st_uid
    if user == 0:
        raise ClusterError(f'"{path}" is root\'s', hint="PostgreSQL is to run as another user.")
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


def _size(cluster: Cluster, setting: str, expected: int) -> str:
    """What *setting* is, as SQL says where it can, and as pg_controldata always does.

    Blocks are in bytes, and segments in blocks.
    """
    with cluster.connect() as connection:
        row = connection.execute(
            "SELECT setting FROM pg_settings WHERE name = %s", [setting]
        ).fetchone()
    control = control_data(cluster.build, cluster.data)[_CONTROL_DATA[setting]]
    said = {control} | ({str(row[0])} if row else set())
    if said != {str(expected)}:
        raise ClusterError(
            f"{setting} is not {expected}",
            detail=f"SHOW says {row[0] if row else 'nothing'}, pg_controldata says {control}.",
        )
    return control if row else f"{control} (pg_controldata)"


def _spoken(cluster: Cluster) -> str:
    """Values in and out through psycopg, as text and binary; the server's version."""
    with cluster.connect() as connection:
        connection.execute("CREATE TEMPORARY TABLE spoken (i int, t text, at timestamptz)")
        told = (7, "trunk", datetime(2026, 11, 20, 11, 0, tzinfo=UTC))
        with connection.transaction():
            connection.execute("INSERT INTO spoken VALUES (%s, %s, %s)", told)
        for binary in (False, True):
            heard = connection.execute("SELECT * FROM spoken", binary=binary).fetchone()
            if heard != told:
                raise ClusterError("psycopg heard something else", detail=f"{told}, but {heard}")
        return connection.info.parameter_status("server_version") or ""


def _stopped(cluster: Cluster) -> str:
    cluster.stop(immediate=False)
    if not is_shut_down(cluster.data):
        raise ClusterError(
            f"the server of {cluster.build.label} did not shut down cleanly",
            detail="\n".join(cluster.log_text().splitlines()[-10:]),
        )
    return "clean"


def _timed(mode: Mode, *, build: Build, pgbench: Pgbench, machine: Machine, paths: Paths) -> str:
    scenario = Scenario(mode=mode, protocol=Protocol.PREPARED, tier=Tier.SMALL, scale=_SCALE)
    record = measure(
        build=build,
        pgbench=pgbench,
        cell=Cell(scenario=scenario, clients=_CLIENTS, profile="default"),
        seconds=_SECONDS,
        seed=int.from_bytes(os.urandom(3)),
        machine=machine,
        paths=paths,
        context={},
    )
    sample = record.sample
    if sample.failed or not sample.transactions:
        raise MeasureError(
            f"{sample.failed} of {sample.transactions} transactions failed",
            detail=record.stderr or "",
        )
    return f"{sample.tps:.0f} tx/s"
