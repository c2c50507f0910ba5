"""What observing costs: the same Run with and without it, in interleaved random order.

``python -m perf.observing [REF] [BLOCKS] [SECONDS]`` takes so many blocks (40), of one Run with
and one without a look a second and the latencies of statements, of 4 clients read-only and
read-write at scale 10. The TPS of the two are compared as ``landspeed compare`` does it. The
processor time of looking, ours and the server's, is known far more exactly, and is the other
figure: on a machine whose processors are busy that is the share of TPS that it can take.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import mean
from typing import Any

from base.build import Variant
from benchmarks.exclusive import measuring
from benchmarks.measure import measure, prepare, templates
from benchmarks.pgbench import Pgbench
from benchmarks.scenarios import Cell, Mode, Protocol, Scenario, Tier
from landspeed.comparison import Comparison, Goal, block_order
from landspeed.progress import meter, say
from landspeed.workshop import Workshop
from perf.figure import Figure

SCALE, CLIENTS = 10, 4


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A Compared is a Comparison of TPS, and the CPU seconds that looking took in a Run."""

    comparison: Comparison
    cost_seconds: float


def compared(mode: Mode, run: Callable[..., dict[str, Any]], blocks: int) -> Compared:
    """Take *blocks* of two *run* each, without and with observing."""
    found = Comparison(goal=Goal(precision=0.002, higher_is_better=True), sides=2)
    spent = []
    with meter(f"observing {mode}") as shown:
        for block in range(blocks):
            shown.update(block / blocks, str(found.findings[0]))
            tps = {}
            for side, seed in block_order(f"observing {mode}", block, 2):
                record = run(seed=seed, observing=side == 1)
                tps[side] = record["sample"]["tps"]
                if record["evidence"]:
                    spent.append(sum(record["evidence"]["cost_ms"].values()) / 1000)
            found = found.with_block([tps[0], tps[1]])
    return Compared(comparison=found, cost_seconds=mean(spent))


def main(ref: str, blocks: int, seconds: int) -> None:
    """Print the figures for *ref*."""
    workshop = Workshop.open()
    pgbench = Pgbench(build=workshop.build(workshop.builder.newest_stable(), Variant()))
    build = workshop.build(workshop.builder.sources.resolve(ref), Variant())
    with measuring():
        prepare(build=build, scale=SCALE, store=templates(workshop.paths, pgbench))
        for mode in (Mode.READ_ONLY, Mode.READ_WRITE):
            scenario = Scenario(mode=mode, protocol=Protocol.PREPARED, tier=Tier.SMALL, scale=SCALE)
            cell = Cell(scenario=scenario, clients=CLIENTS, profile="default")
            say(f"{blocks} blocks of two runs of {seconds} s of {build.label}, {mode}")
            run = partial(
                measure,
                build=build,
                pgbench=pgbench,
                cell=cell,
                seconds=seconds,
                machine=workshop.machine,
                paths=workshop.paths,
                context={"preset": "perf"},
            )
            found = compared(mode, run, blocks)
            (finding,) = found.comparison.findings
            Figure(
                figure=f"observing, {mode}: TPS with it / without",
                value=round(finding.ratio or 0.0, 4),
                unit="ratio",
                goal=">= 0.998",
                beside=f"95 % interval {finding.readable}, {blocks} pairs of runs of {seconds} s, "
                f"{CLIENTS} clients",
            ).show()
            Figure(
                figure=f"observing, {mode}: processor time of looking / all there is",
                value=round(100 * found.cost_seconds / seconds / workshop.machine.cores, 4),
                unit="%",
                goal="<= 0.2",
            ).show()


if __name__ == "__main__":
    given = sys.argv[1:]
    main(
        given[0] if given else "18",
        int(given[1]) if len(given) > 1 else 40,
        int(given[2]) if len(given) > 2 else 5,
    )
