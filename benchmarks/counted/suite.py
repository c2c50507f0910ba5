"""Count workloads of the catalog on one build, and make a raw record of each."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from base.build import Build
from base.errors import LandspeedError, MeasureError
from base.paths import Paths
from base.version import Version
from benchmarks.clients.pgbench import Pgbench
from benchmarks.counted.count import INSTRUMENT, SEED, SPREAD_LIMIT, keep_profile
from benchmarks.counted.suite_server import SuiteServer, WorkloadCount
from benchmarks.counted.valgrind import CountEnvironment, count_epoch, require_countable
from benchmarks.data.datasets import DatasetLoader
from benchmarks.data.templates import Templates, template_limit
from benchmarks.machine.machine import Machine
from benchmarks.measure import provenance
from benchmarks.records.record import Record
from benchmarks.server.configuration import Configuration
from benchmarks.server.home import ServerHome
from benchmarks.workloads.catalog import Workload
from benchmarks.workloads.scenario import CacheState, Cell, Scenario, Tier

_CONFIGURATION = "default"
# A busy machine may take longer than a second for a series, and a hand-over of statistics falls
# into it; the next try rarely meets one again.
_TRIES = 3


def workload_cell(workload: Workload) -> Cell:
    """Return the cell in which *workload* is counted: one client, warm, the default settings."""
    scenario = Scenario(mode=workload, protocol=workload.protocol, tier=Tier.SMALL, scale=1)
    return Cell(scenario=scenario, clients=1, profile=_CONFIGURATION, buffers=CacheState.WARM)


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

    def templates(self) -> Templates:
        """Return the templates that have the datasets of the catalog."""
        home = ServerHome.open(self.paths, None)
        return Templates(
            home=home,
            client=self.pgbench.at_home(home),
            own=DatasetLoader(),
            limit_bytes=template_limit(dict(os.environ)),
        )

    def load(self) -> None:
        """Load the datasets now, if they are not loaded yet."""
        store = self.templates()
        store.ensure(store.home.reachable(self.build), 1)

    def count(self, workloads: Sequence[Workload]) -> Iterator[Record | LandspeedError]:
        """Count *workloads*; yield the record of each, or the error that it ended with.

        One that fails does not stop the others: where the server died, a new one is started.
        MeasureError is raised where nothing can be counted, or the datasets cannot be loaded.
        """
        require_countable()
        store = self.templates()
        left = list(workloads)
        while left and not self.stop.is_set():
            with store.home.run_directory() as run:
                server = store.home.reachable(self.build)
                data = run.path / "copy"
                store.copy(server, 1, data)
                settings = Configuration.named(_CONFIGURATION).settings(
                    server.version, self.machine.memory_bytes
                )
                with SuiteServer.start(
                    server, self.pgbench, data=data, run=run, settings=settings
                ) as suite:
                    while left and not self.stop.is_set() and suite.cluster.is_well:
                        yield self._counted(suite, left.pop(0))

    def _counted(self, suite: SuiteServer, workload: Workload) -> Record | LandspeedError:
        started = datetime.now(UTC)
        try:
            for _ in range(_TRIES):
                counted = suite.count(workload)
                if counted.spread <= SPREAD_LIMIT:
                    return self._record(counted, started)
            raise MeasureError(
                "counting twice gave different numbers",
                detail=f"{', '.join(f'{slope:.1f}' for slope in counted.slopes)} instructions are "
                f"{counted.spread:.2%} apart, {SPREAD_LIMIT:.2%} are allowed.",
            )
        except LandspeedError as error:
            return MeasureError(
                f"could not count {workload.name} on {self.build.label}",
                detail="\n".join(filter(None, (error.message, error.detail))),
                hint=error.hint,
            )

    def _record(self, counted: WorkloadCount, started: datetime) -> Record:
        workload, machine = counted.workload, self.machine
        facts = provenance(
            started,
            build=self.build,
            pgbench=self.pgbench,
            cell=workload_cell(workload),
            machine=machine,
        )
        facts["epoch"] = workload_environment(workload, self.build.version).facts(machine)
        facts["run"] = {
            **self.context,
            "instrument": INSTRUMENT,
            "transactions": list(workload.lengths),
            "seed": SEED,
            "phases": {"count": round(counted.seconds, 3)},
        }
        facts["sample"] = {
            "instructions": round(counted.instructions, 3),
            "instructions_spread": round(counted.spread, 9),
            "clocked_instructions": round(counted.clocked, 4),
            "wal_bytes_tx": round(counted.wal_bytes, 4),
            "transactions": workload.lengths[1] - workload.lengths[0],
        }
        record = Record.from_json(facts)
        keep_profile(self.paths, record.id, counted.profile)
        return record
