"""What server and machine were doing while pgbench ran: a look a second, and their sum.

Looking is done by a thread over one connection that is made before pgbench begins. It goes to
another database than pgbench's, so that it is in none of the counts of that.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import psycopg

from benchmarks.machine.kernel_counters import (
    Counters,
    Device,
    clock_mhz,
    cpu_shares,
    disk_work,
    memory_now,
    throttled,
)
from benchmarks.machine.processes import busy_seconds
from benchmarks.observation.activity import WORKERS, Activity, Doing, add
from benchmarks.server.cluster import Cluster
from benchmarks.server.endpoint import DATABASE

EVERY = 1.0
"""Seconds from one look to the next; the first comes after half of them."""

_DATABASE = "template1"
_PATIENCE = 30.0


@dataclass(kw_only=True)
class Looks:
    """Sums over all observations of one run.

    ``each`` has for every look the shares of time, since the one before, in which processors
    were busy and stolen, and the disk busy. ``memory`` is the least that was available and
    the most that waited to be written, in bytes. ``cost`` are the CPU seconds of looking,
    ours and the server's.
    """

    count: int = 0
    waits: Doing = field(default_factory=dict)
    locks: dict[str, int] = field(default_factory=dict)
    memory: dict[str, int] = field(default_factory=dict)
    clocks: list[float] = field(default_factory=list)
    each: dict[str, list[float]] = field(default_factory=dict)
    cost: tuple[float, float] = (0.0, 0.0)

    def add_memory(self, now: dict[str, int]) -> None:
        """Keep of *now* (see memory_now) what is worse than what was seen before."""
        for name, size in now.items():
            worse = min if name == "available" else max
            self.memory[name] = worse(self.memory.get(name, size), size)

    def add_share(self, name: str, share: float) -> None:
        """Keep one more number of ``each``."""
        self.each.setdefault(name, []).append(round(share, 2))


@dataclass(kw_only=True)
class Monitor:
    """Everything observed during one run; ``facts`` is the part that its record holds."""

    device: Device
    before: Counters
    after: Counters | None = None
    throttled: int | None = None
    looks: Looks = field(default_factory=Looks)

    def facts(self) -> dict[str, Any]:
        """What the raw record says of it; a number that nobody can know is left out."""
        looks, after = self.looks, self.after or self.before
        disk = disk_work(self.before, after)
        ours, servers = looks.cost
        facts: dict[str, Any] = {
            "looks": looks.count,
            "cpu": cpu_shares(self.before, after),
            "context_switches": after.context_switches - self.before.context_switches,
            "memory": looks.memory,
            "disk": {"why": self.device.why}
            if disk is None
            else {"device": self.device.name, **disk},
            "waits": looks.waits,
            "locks": looks.locks,
            "each": looks.each,
            "cost_ms": {"ours": round(1000 * ours, 1), "server": round(1000 * servers, 1)},
        }
        if looks.clocks:
            facts["clock_mhz"] = [looks.clocks[0], looks.clocks[-1]]
        if self.throttled is not None:
            facts["throttled"] = self.throttled
        return facts


@contextmanager
def watching(cluster: Cluster, *workers: Cluster, every: float = EVERY) -> Iterator[Monitor]:
    """Yield a Monitor of *cluster*, its *workers* and its machine while the block lasts.

    It is complete when the block ends. ClusterError if one cannot be connected to. If a server
    dies, the samples end there, and whoever runs pgbench reports it.
    """
    device = Device.of(cluster.data)
    with ExitStack() as stack:
        # a workload of the catalog has a database of its own, and may copy template1
        database = _DATABASE if cluster.database == DATABASE else DATABASE
        connections = [stack.enter_context(one.connect(database)) for one in (cluster, *workers)]
        looker = _Looker(connections, device, every)
        hot = throttled()
        watch = Monitor(device=device, before=Counters.read(device))
        looker.start(watch.before)
        try:
            yield watch
        finally:
            watch.after = Counters.read(device)
            looker.end()
            hotter = throttled()
            if hot is not None and hotter is not None:
                watch.throttled = hotter - hot
            watch.looks = looker.looks


class _Looker(threading.Thread):
    """The thread that looks, by a connection to each server."""

    def __init__(
        self, connections: Sequence[psycopg.Connection[Any]], device: Device, every: float
    ) -> None:
        super().__init__(name="looks", daemon=True)
        self.looks = Looks()
        self._connections = connections
        self._device = device
        self._every = every
        self._over = threading.Event()
        # where a Run is kept on few processors, they are pgbench's and its backends'
        with suppress(OSError):
            for connection in connections:
                os.sched_setaffinity(connection.info.backend_pid, os.sched_getaffinity(0))
        self._activity = Activity.of(connections[0])
        # the first time a backend reads catalogs and plans: not while pgbench runs
        for connection in connections:
            self._activity.now(connection)
        self._last: Counters | None = None

    def start(self, before: Counters | None = None) -> None:
        self._last = before
        super().start()

    def end(self) -> None:
        """No further look; the one that is under way is waited for."""
        self._over.set()
        self.join(_PATIENCE)

    def run(self) -> None:
        began = self._busy()
        due = time.monotonic() + self._every / 2
        # the server, or one of its files in /proc, may be gone: whoever runs pgbench says so
        with suppress(psycopg.Error, OSError):
            while not self._over.wait(max(0.0, due - time.monotonic())):
                self._look()
                # one that came late is not made up for
                due = max(due + self._every, time.monotonic())
                self.looks.cost = (time.thread_time(), self._busy() - began)

    def _busy(self) -> float:
        return sum(busy_seconds(one.info.backend_pid) for one in self._connections)

    def _look(self) -> None:
        looks, now = self.looks, Counters.read(self._device)
        looks.count += 1
        for number, connection in enumerate(self._connections):
            doing, locks = self._activity.now(connection)
            add(looks.waits, {f"{WORKERS if number else ''}{k}": v for k, v in doing.items()})
            for name, count in locks.items():
                looks.locks[name] = looks.locks.get(name, 0) + count
        looks.add_memory(memory_now())
        clock = clock_mhz()
        if clock is not None:
            looks.clocks.append(clock)
        if self._last is not None:
            cpu, disk = cpu_shares(self._last, now), disk_work(self._last, now)
            looks.add_share("busy", 1 - cpu["idle"] - cpu["iowait"])
            looks.add_share("steal", cpu["steal"])
            if disk is not None:
                looks.add_share("disk", disk["busy"])
        self._last = now
