"""How well a set of builds fills the cores: its wall clock against its CPU seconds.

``python -m perf.builds.build_set [REF…]`` builds each REF (13 15 17 18) at 2, 4 and 8 kB from
cold, in a cache of its own. The CPU time of other processes, which make it longer, is printed
beside it.
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from base.build import Build, Variant
from base.paths import Paths
from builders.build_set import BuildSetProgress, Order, build_many
from builders.builder import Builder
from builders.sandbox import Host
from builders.store import Store
from landspeed.console.progress import meter
from perf.figure import Figure, cpu_seconds

_REFS = ("13", "15", "17", "18")
_BLOCK_SIZES = (2, 4, 8)


def busy_seconds() -> float:
    """CPU seconds that all processes of this machine have used since it was started."""
    names = "user nice system idle iowait irq softirq steal".split()
    line = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    ticks = dict(zip(names, map(int, line), strict=False))
    return sum(ticks[n] for n in ("user", "nice", "system", "irq", "softirq")) / 100


def main(refs: list[str]) -> None:
    """Print the figure for *refs*."""
    shared = Builder.open(Paths.find())
    sources = [shared.sources.resolve(ref) for ref in refs]
    orders = [
        Order(source=source, variant=Variant(blocksize=size))
        for source in sources
        for size in _BLOCK_SIZES
    ]
    cores = shared.sandbox.jobs
    with (
        tempfile.TemporaryDirectory(prefix="landspeed-perf-") as name,
        meter(f"building {len(orders)}") as shown,
    ):
        paths = replace(shared.paths, cache=Path(name))
        builder = replace(
            shared,
            paths=paths,
            sandbox=Host(ccache=paths.ccache, jobs=cores),
            store=Store(root=paths.store, limit=shared.store.limit),
        )

        def tell(standing: BuildSetProgress) -> None:
            shown.update(standing.share, f"{len(standing.outcomes)} of {len(orders)} done")

        began, ours, all_ = time.monotonic(), cpu_seconds(), busy_seconds()
        outcomes = build_many(builder, orders, at_once=cores, tell=tell)
        wall, ours, all_ = (
            time.monotonic() - began,
            cpu_seconds() - ours,
            busy_seconds() - all_,
        )
    failed = [str(outcome) for outcome in outcomes.values() if not isinstance(outcome, Build)]
    if failed:
        sys.exit("\n".join(failed))
    Figure(
        figure=f"building {{{','.join(refs)}}} x {{2,4,8 kB}} on {cores} cores: wall / ideal",
        value=round(wall / (ours / cores), 3),
        unit="ratio of seconds",
        goal="<= 1.15",
        beside=f"{wall:.0f} s of wall, {ours:.0f} CPU s; other processes used "
        f"{max(0.0, all_ - ours):.0f} CPU s meanwhile",
    ).show()


if __name__ == "__main__":
    main(sys.argv[1:] or list(_REFS))
