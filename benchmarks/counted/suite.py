"""Count workloads of the catalog on one build, and make a raw record of each."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from base.build import Build
from base.errors import LandspeedError, MeasureError
from base.files import storage_errors
from base.paths import Paths
from base.version import Version
from benchmarks.clients.pgbench import Pgbench
from benchmarks.counted.callgrind import Profile
from benchmarks.counted.count import (
    INSTRUMENT,
    NotRepeatedError,
    exact_cell,
    keep_profile,
    repeated,
)
from benchmarks.counted.series import COUNTER, MARK, SeriesPlan
from benchmarks.counted.server import SEED, CountedServer
from benchmarks.counted.settings import clock_driven
from benchmarks.counted.valgrind import CountEnvironment, count_epoch, require_countable
from benchmarks.data.datasets import DatasetLoader
from benchmarks.data.templates import Templates, template_limit
from benchmarks.machine.machine import Machine
from benchmarks.measure import provenance
from benchmarks.observation.snapshot import wal_position
from benchmarks.records.record import Record
from benchmarks.server.cluster import known_settings
from benchmarks.server.configuration import Configuration
from benchmarks.server.home import ServerHome
from benchmarks.workloads.catalog import Workload
from benchmarks.workloads.scenario import CacheState, Cell, Scenario, Tier

_CONFIGURATION = "default"
_SCALE = 1  # the datasets have one size
# On a busy machine a series may take longer than a second. Statistics are then reported in it,
# which a second or third try rarely meets again.
_TRIES = 3
# From 15 on this function has a session report its statistics at the end of the transaction.
_REPORT = "pg_stat_force_next_flush"
# Before 15 statistics are reported when 0.5 s have passed, see PGSTAT_STAT_INTERVAL in pgstat.c.
_WAIT = "\\sleep 600 ms"


def workload_cell(workload: Workload) -> Cell:
    """Return the cell in which *workload* is counted: one client, warm, the default settings."""
    scenario = Scenario(mode=workload, protocol=workload.protocol, tier=Tier.SMALL, scale=_SCALE)
    return exact_cell(scenario, _CONFIGURATION, CacheState.WARM)


def workload_environment(workload: Workload, version: Version) -> CountEnvironment:
    """Return what counts of *workload* on *version* must share to be compared."""
    return replace(count_epoch(), workload=workload.digest(version))


@dataclass(frozen=True, kw_only=True)
class Suite:
    """Workloads that are counted on one *build*, one after the other, on one started server.

    ``context`` goes into each record's ``run``. When ``stop`` is set, counting ends with the
    workload under way.
    """

    build: Build
    pgbench: Pgbench
    machine: Machine
    paths: Paths
    context: Mapping[str, Any]
    stop: threading.Event

    def load(self) -> None:
        """Load the datasets now, if they are not loaded yet."""
        store = self._templates()
        store.ensure(store.home.reachable(self.build), _SCALE)

    def count(self, workloads: Sequence[Workload]) -> Iterator[Record | LandspeedError]:
        """Count *workloads*; yield the record of each, or the error that it ended with.

        One that fails does not stop the others: where the server died, a new one is started.
        MeasureError is raised where nothing can be counted, or the datasets cannot be loaded.
        """
        require_countable()
        store = self._templates()
        build = store.home.reachable(self.build)
        configuration = Configuration.named(_CONFIGURATION)
        left = list(workloads)
        while left and not self.stop.is_set():
            with store.home.run_directory() as run:
                data = run.path / "copy"
                store.copy(build, _SCALE, data)
                with CountedServer.start(
                    build,
                    data=data,
                    run=run,
                    settings=configuration.settings(
                        known_settings(build), self.machine.memory_bytes
                    ),
                    options=[f"--dump-before={MARK}"],
                ) as server:
                    words = _words(server)
                    while left and not self.stop.is_set() and server.cluster.is_well:
                        yield self._counted(server, left.pop(0), words)

    def _templates(self) -> Templates:
        home = ServerHome.open(self.paths, None)
        return Templates(
            home=home,
            client=self.pgbench.at_home(home),
            own=DatasetLoader(),
            limit_bytes=template_limit(dict(os.environ)),
        )

    def _counted(
        self, server: CountedServer, workload: Workload, words: Mapping[str, str]
    ) -> Record | LandspeedError:
        error: LandspeedError
        for _ in range(_TRIES):
            try:
                return self._record(server, workload, words)
            except NotRepeatedError as differs:
                error = differs
            except LandspeedError as failed:
                error = failed
                break
        return MeasureError(
            f"could not count {workload.name} on {self.build.label}",
            detail="\n".join(filter(None, (error.message, error.detail))),
            hint=error.hint,
        )

    def _record(
        self, server: CountedServer, workload: Workload, words: Mapping[str, str]
    ) -> Record:
        """Count *workload* on *server*, and keep its profile."""
        started, began = datetime.now(UTC), time.monotonic()
        dialect, cell = server.cluster.dialect, workload_cell(workload)
        plan = SeriesPlan.of(workload, **words)
        script = server.run.scratch / f"{workload.name}.sql"
        with storage_errors(f'write "{script}"', script):
            script.write_text(plan.script)
            script.chmod(0o644)
        with server.explained():
            relay, argv = server.drive(
                self.pgbench,
                cell.scenario,
                database=workload.dataset,
                transactions=plan.executions,
                script=script,
                variables={COUNTER: "0"},
            )
            parts = server.parts(relay.backends[-1], plan.marks + 1)
        texts = plan.series(parts)
        _, *wal = plan.wal_bytes(list(map(dialect.wal_bytes, relay.positions)))
        short, long, short_again, long_again = map(Profile.parse, texts[1:])
        more = workload.lengths[1] - workload.lengths[0]
        instructions, spread = repeated(
            [(_work(long) - _work(short)) / more, (_work(long_again) - _work(short_again)) / more],
            workload.name,
        )
        facts = provenance(
            started, build=self.build, pgbench=self.pgbench, cell=cell, machine=self.machine
        )
        environment = workload_environment(workload, self.build.version)
        record = Record.from_json(
            {
                **facts,
                "epoch": environment.facts(self.machine),
                "run": {
                    **self.context,
                    "instrument": INSTRUMENT,
                    "transactions": list(workload.lengths),
                    "seed": SEED,
                    "argv": ["pgbench", *argv[1:]],
                    "phases": {"count": round(time.monotonic() - began, 3)},
                },
                "sample": {
                    "instructions": round(instructions, 3),
                    "instructions_spread": round(spread, 9),
                    "clocked_instructions": round((_clocked(long) - _clocked(short)) / more, 4),
                    "wal_bytes_tx": round((min(wal[1::2]) - min(wal[::2])) / more, 4),
                    "transactions": more,
                },
            }
        )
        keep_profile(self.paths, record.id, long.since(short, more))
        return record


def _words(server: CountedServer) -> dict[str, str]:
    """Return what a SeriesPlan needs to know of how *server* is spoken to."""
    with server.cluster.connect() as connection:
        query = "SELECT 1 FROM pg_proc WHERE proname = %s"
        reports = connection.execute(query, [_REPORT]).fetchone()
        return {
            "settle": f"SELECT {_REPORT}();" if reports else _WAIT,
            "wal_position": wal_position(connection),
        }


def _clocked(profile: Profile) -> float:
    return profile.called_by(clock_driven())


def _work(profile: Profile) -> float:
    return sum(profile.own.values()) - _clocked(profile)
