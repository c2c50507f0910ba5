"""Count many workloads of the catalog on one started server, each in a session of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from base.build import Build
from base.errors import MeasureError
from base.files import storage_errors
from benchmarks.clients.pgbench import Pgbench
from benchmarks.counted.callgrind import Profile, is_whole
from benchmarks.counted.relay import Relay
from benchmarks.counted.series import COUNTER, MARK, SeriesPlan
from benchmarks.counted.settings import clock_driven, exact_settings
from benchmarks.counted.valgrind import counting, require_fixed_addresses
from benchmarks.machine.processes import children
from benchmarks.server.cluster import SUPERUSER, Cluster
from benchmarks.server.home import PORT, RunDirectory
from benchmarks.workloads.catalog import Workload

_FILE_SECONDS = 60.0
_POLL_SECONDS = 0.01
_SEED = 7
# After it the statistics of a session are handed over at the next end of a transaction (15 on).
_FORCE_FLUSH = "pg_stat_force_next_flush"
# Before 15 they are handed over when 0.5 s have passed, see PGSTAT_STAT_INTERVAL in pgstat.c.
_SLEEP = "\\sleep 600 ms"


@dataclass(frozen=True, kw_only=True)
class WorkloadCount:
    """What one execution of a workload costs: two slopes between short and long series.

    ``slopes`` are instructions per execution, without those that a clock starts; ``clocked`` are
    those. ``wal_bytes`` is per execution as well. ``profile`` is per execution, by function.
    """

    workload: Workload
    slopes: tuple[float, float]
    clocked: float
    wal_bytes: float
    profile: Profile
    seconds: float

    @property
    def instructions(self) -> float:
        """Instructions per execution."""
        return sum(self.slopes) / len(self.slopes)

    @property
    def spread(self) -> float:
        """How far apart the two slopes are, relative to their mean."""
        apart = abs(self.slopes[0] - self.slopes[1])
        return apart / self.instructions if self.instructions else 0.0


@dataclass(kw_only=True)
class SuiteServer:
    """A server under callgrind, started once, on which one workload after the other is counted."""

    cluster: Cluster
    pgbench: Pgbench
    run: RunDirectory
    counts: Path
    settle: str = _SLEEP

    @classmethod
    @contextmanager
    def start(
        cls,
        build: Build,
        pgbench: Pgbench,
        *,
        data: Path,
        run: RunDirectory,
        settings: Mapping[str, str],
    ) -> Iterator[Self]:
        """Start *build* on *data*, which has the datasets; MeasureError if it does not serve."""
        counts = run.path / "counts"
        with storage_errors(f'create "{counts}"', counts):
            counts.mkdir(exist_ok=True)
            run.own(counts)
        cluster = Cluster(
            build=build,
            data=data,
            run=run,
            settings={**settings, **exact_settings(build.version)},
            keep=False,
            under=[*counting(counts), f"--dump-before={MARK}"],
        )
        with cluster:
            require_fixed_addresses([cluster.pid, *children(cluster.pid)])
            server = cls(cluster=cluster, pgbench=pgbench, run=run, counts=counts)
            with cluster.connect() as connection:
                known = connection.execute(
                    "SELECT 1 FROM pg_proc WHERE proname = %s", [_FORCE_FLUSH]
                ).fetchone()
            if known:
                server.settle = f"SELECT {_FORCE_FLUSH}();"
            yield server

    def count(self, workload: Workload) -> WorkloadCount:
        """Count *workload*; MeasureError if its script fails or the server dies."""
        began = time.monotonic()
        plan = SeriesPlan.of(
            workload, settle=self.settle, wal_position=self.cluster.dialect.wal_position
        )
        relay = self._drive(workload, plan)
        texts = [path.read_text(errors="replace") for path in self._parts(relay.backends[-1], plan)]
        short, long, again_short, again_long = (
            Profile.parse(text) for text in plan.series(texts)[1:]
        )
        wal = plan.wal_bytes(list(map(self.cluster.dialect.wal_bytes, relay.positions)))[1:]
        more = workload.lengths[1] - workload.lengths[0]
        slopes = [
            (_work(after) - _work(before)) / more
            for before, after in ((short, long), (again_short, again_long))
        ]
        return WorkloadCount(
            workload=workload,
            slopes=(slopes[0], slopes[1]),
            clocked=(_clocked(long) - _clocked(short)) / more,
            wal_bytes=(min(wal[1], wal[3]) - min(wal[0], wal[2])) / more,
            profile=long.since(short, more),
            seconds=time.monotonic() - began,
        )

    def _drive(self, workload: Workload, plan: SeriesPlan) -> Relay:
        """Run pgbench through a relay, which knows then which backend served it."""
        script = self.run.scratch / f"{workload.name}.sql"
        with storage_errors(f'write "{script}"', script):
            script.write_text(plan.script)
            script.chmod(0o644)
        name = f".s.PGSQL.{PORT}"
        relayed = self.cluster.host / "r"
        relayed.mkdir(exist_ok=True)
        with Relay(here=relayed / name, there=self.cluster.host / name) as relay:
            self.pgbench.execute(
                relayed,
                user=SUPERUSER,
                database=workload.dataset,
                protocol=workload.protocol,
                script=script,
                executions=plan.executions,
                seed=_SEED,
                counter=COUNTER,
            )
        if not relay.backends:
            raise MeasureError("pgbench did not reach the server")
        self.cluster.check()
        return relay

    def _parts(self, backend: int, plan: SeriesPlan) -> list[Path]:
        """Return the files of *backend*, the last of which is written when it has ended."""
        wanted = plan.marks + 1
        deadline = time.monotonic() + _FILE_SECONDS
        while time.monotonic() < deadline:
            found = [path for path in self.counts.glob(f"{backend}*") if _is_of(path, backend)]
            if len(found) >= wanted and all(is_whole(path.read_text()) for path in found):
                return found
            time.sleep(_POLL_SECONDS)
        raise MeasureError(
            "a counted backend left no profile",
            detail=f"{wanted} parts of it did not come within {_FILE_SECONDS:.0f} s.",
            hint="It may have been killed; see the server's log.",
        )


def _is_of(path: Path, backend: int) -> bool:
    # PID for the last part of a process, PID.1 and so on for those before it
    return path.name.partition(".")[0] == str(backend)


def _clocked(profile: Profile) -> float:
    return profile.called_by(clock_driven())


def _work(profile: Profile) -> float:
    return sum(profile.own.values()) - _clocked(profile)
