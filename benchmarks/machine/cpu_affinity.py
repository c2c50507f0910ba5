"""Where a Run takes place: on which logical processors pgbench and the backends it talks to run.

A client and its backend take turns: neither works while the other does. For fewer clients than
processors the kernel is free to keep each pair on one processor or to spread it over two, where
every message first has to wake an idle one. It chooses anew in each Run, by chance, and the
choice outweighs any server: one client's read by key on two virtual processors takes 0.012 ms or
0.078 ms (docs/performance.md). So a Run gets as many processors as it has clients, and no choice.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from pathlib import Path

_CPUS = Path("/sys/devices/system/cpu")


def allowed_processors() -> frozenset[int]:
    """Return the logical processors that this process may use."""
    return frozenset(os.sched_getaffinity(0))


def placement(clients: int, processors: Collection[int], cpus: Path = _CPUS) -> tuple[int, ...]:
    """Return the logical *processors* that a Run of so many *clients* is kept on, in order.

    All of them where there are no more than clients. Else one thread of each core before a
    second one of any, the highest numbers first: the kernel gives its interrupts to the lowest.
    """
    if clients >= len(processors):
        return tuple(sorted(processors))
    seen: dict[str, int] = {}
    ranked = []
    for processor in sorted(processors, reverse=True):
        core = _core(processor, cpus)
        ranked.append((seen.get(core, 0), -processor))
        seen[core] = seen.get(core, 0) + 1
    return tuple(sorted(-negative for _, negative in sorted(ranked)[:clients]))


def _core(processor: int, cpus: Path) -> str:
    """Return a word for the core of *processor*; its own number if the kernel does not say."""
    try:
        text = (cpus / f"cpu{processor}/topology/thread_siblings_list").read_text().strip()
    except OSError:
        return str(processor)
    return text if re.fullmatch(r"[0-9,-]+", text) else str(processor)
