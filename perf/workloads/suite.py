"""What counting the catalog costs, and how well the counts repeat, on one build.

``python -m perf.workloads.suite [REF]`` (default: 18) loads all datasets into a data directory of
its own, counts the suite *standard* on as many servers as keep all cores busy, counts it again one
workload after the other for the CPU time of each, and then one workload alone. No result of the
project is read or written.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from base.build import Build, Variant
from base.errors import LandspeedError
from benchmarks.clients.pgbench import Pgbench
from benchmarks.counted.count import Counter
from benchmarks.counted.slope import SPREAD_LIMIT
from benchmarks.machine.processes import cpu_seconds
from benchmarks.records.record import Record
from benchmarks.workloads.catalog import choose
from benchmarks.workloads.scenario import Cell
from landspeed.campaign.workloads import cells_of, count_side_by_side, counter_of
from landspeed.compare.verdict import COUNTED_DIFFERENCE
from landspeed.console.progress import meter, say
from landspeed.session.session import Session, built
from landspeed.session.target import Target
from perf.figure import Figure

SUITE, ALONE = "standard", "select-1-prepared"


def counted(
    what: str, cells: Sequence[Cell], way: Callable[..., None], counter: Counter
) -> tuple[list[Record], list[float]]:
    """Count *cells* in a *way*; return the records, and the CPU seconds at the end of each."""
    records, spent = list[Record](), list[float]()
    with meter(what) as shown:

        def done(cell: Cell, outcome: Record | LandspeedError) -> None:
            spent.append(cpu_seconds(os.getpid()))
            shown.update(len(spent) / len(cells), str(cell.scenario.mode))
            if isinstance(outcome, Record):
                records.append(outcome)
            else:
                say(str(outcome))

        way(counter, cells, done)
    return records, spent


def one_by_one(
    counter: Counter, cells: Sequence[Cell], done: Callable[[Cell, Record | LandspeedError], None]
) -> None:
    """Count *cells* one after the other."""
    for cell, outcome in zip(cells, counter.count(cells), strict=False):
        done(cell, outcome)


def measure(session: Session, build: Build) -> None:
    """Print all figures of *build*."""
    cells = cells_of(session, choose([], SUITE))
    pgbench = Pgbench(build=session.pgbench_build())
    counter = counter_of(session, build, pgbench)
    began = time.monotonic()
    for cell in (cells[0], cells[-1]):  # pgbench's tables, and all datasets of the catalog
        counter.load(cell)
    loaded = time.monotonic()
    records, _ = counted("counting at once", cells, count_side_by_side, counter)
    wall = time.monotonic() - loaded
    before = cpu_seconds(os.getpid())
    alone, spent = counted("counting one by one", cells, one_by_one, counter)
    each = [after - before for before, after in zip([before, *spent], spent, strict=False)]
    one = [cell for cell in cells if cell.scenario.mode.value == ALONE]
    began_one, before = time.monotonic(), cpu_seconds(os.getpid())
    _, (after,) = counted("counting one", one, one_by_one, counter)
    where = f"{build.label}, {len(cells)} counts, load {os.getloadavg()[1]:.1f}"
    Figure(
        figure="loading all datasets on one build",
        value=round(loaded - began, 1),
        unit="s",
        goal="<= 90",
        beside=where,
    ).show()
    Figure(
        figure=f"suite {SUITE} on one build, {session.machine.cores} cores",
        value=round(wall, 1),
        unit="s",
        goal="<= 360",
        beside=where,
    ).show()
    ninth = statistics.quantiles(each, n=10)[-1]
    Figure(
        figure="a counted workload, median",
        value=round(statistics.median(each), 2),
        unit="CPU s",
        goal="<= 3",
        beside=f"90 % within {ninth:.1f}, all together {sum(each):.0f}; {where}",
    ).show()
    Figure(
        figure="one more workload on a warm build",
        value=round(after - before, 1),
        unit="CPU s",
        beside=f"{ALONE}, {time.monotonic() - began_one:.1f} s of wall time; {where}",
    ).show()
    first, second = (
        {(one.cell.mode, one.cell.cache_state): one.sample.instructions or 0.0 for one in some}
        for some in (records, alone)
    )
    both = first.keys() & second.keys()
    apart = [key for key in both if abs(second[key] / first[key] - 1) >= COUNTED_DIFFERENCE]
    Figure(
        figure=f"counts of one build that differ by {COUNTED_DIFFERENCE:.1%} from those before",
        value=len(apart),
        unit=f"of {len(both)}",
        goal="0",
        beside=", ".join(" ".join(filter(None, key)) for key in sorted(apart)) or where,
    ).show()
    spreads = [one.sample.instructions_spread or 0.0 for one in (*records, *alone)]
    Figure(
        figure=f"counts within {SPREAD_LIMIT:.1%}",
        value=round(100 * len(spreads) / (2 * len(cells)), 1),
        unit="%",
        goal=">= 95",
        beside=f"of two each; median spread {statistics.median(spreads):.4%}; {where}",
    ).show()


def main(ref: str = "18") -> int:
    """Build *ref*, and measure in a data directory and results of our own."""
    with tempfile.TemporaryDirectory(prefix="landspeed-suite-") as name:
        own = Path(name)
        own.chmod(0o711)
        os.environ["LANDSPEED_RESULTS"] = str(own / "results")
        os.environ["LANDSPEED_DATA"] = str(own / "data")
        session = Session()
        target = Target.parse(ref, Variant())
        measure(session, built(session, [target])[target])
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
