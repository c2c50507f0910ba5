"""What observing costs: the same Run with it and without, in interleaved random order.

``python -m perf.observing [REF] [BLOCKS] [SECONDS]`` takes so many blocks (40) of three Runs of
4 clients, read-only and read-write at scale 10: one that nobody looks at, one with a look a
second and the latencies of statements as every Run has them, and one with 200 looks a second. The
TPS are compared as ``landspeed compare`` does it. What a look a second takes is far below what
the wall clock shows of two Runs, so it is made 200 times as large to be seen: what so many
take, divided by how many there were, times what one a second takes of the processors to what one
of so many does: a look that comes seldom finds less of what it needs in caches.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from base.build import Variant
from benchmarks.clients.pgbench import Pgbench
from benchmarks.machine.lock import measuring
from benchmarks.measure import measure, prepare, templates
from benchmarks.observation.monitor import EVERY
from benchmarks.records.record import Record
from benchmarks.workloads.scenario import Cell, Mode, Protocol, Scenario, Tier
from landspeed.compare.verdict import Comparison, Finding, StoppingRule, block_order
from landspeed.console.progress import meter, say
from landspeed.session.session import Session
from perf.figure import Figure

SCALE, CLIENTS = 10, 4
OFTEN = EVERY / 200
SIDES = (None, EVERY, OFTEN)
"""Seconds between looks, of each Run of a block."""


@dataclass(frozen=True, kw_only=True)
class Looking:
    """How often the server was monitored, in samples per second, and the CPU ms of a sample."""

    rate: float
    cost_ms: float

    @classmethod
    def of(cls, records: Sequence[Record]) -> Looking:
        """The mean of *records*, all of one side."""
        seen = [one.evidence for one in records if one.evidence]
        looks = sum(one.looks for one in seen)
        spent = float(sum(sum(one.cost_ms.values()) for one in seen))
        return cls(
            rate=looks / sum(float(one.run.seconds or 0) for one in records),
            cost_ms=spent / looks,
        )


def compared(
    mode: Mode, run: Callable[..., Record], blocks: int
) -> tuple[tuple[Finding, ...], dict[float, Looking]]:
    """Take *blocks* of a *run* of each side; each side's TPS to that of nobody looking."""
    found = Comparison(rule=StoppingRule(precision=0.002, higher_is_better=True), sides=len(SIDES))
    seen: dict[float, list[Record]] = {EVERY: [], OFTEN: []}
    with meter(f"observing {mode}") as shown:
        for block in range(blocks):
            shown.update(block / blocks, str(found.findings[0]))
            tps = {}
            for side, seed in block_order(f"observing {mode}", block, len(SIDES)):
                every = SIDES[side]
                record = run(seed=seed, every=every)
                tps[side] = record.sample.tps or 0.0
                if every is not None:
                    seen[every].append(record)
            found = found.with_block([tps[side] for side in range(len(SIDES))])
    return found.findings, {every: Looking.of(records) for every, records in seen.items()}


def taken(finding: Finding, often: Looking, always: Looking) -> tuple[float, float, float]:
    """What one look a second takes of TPS, by many: the percentage, from, to."""
    ratio, ends = finding.ratio, finding.shown_interval
    if ratio is None or ends is None:
        raise SystemExit("error: too few blocks for an interval\nhint: take ten or more")
    one = 100 / often.rate * always.cost_ms / often.cost_ms
    return one * (1 - ratio), one * (1 - ends.high), one * (1 - ends.low)


def main(ref: str, blocks: int, seconds: int) -> None:
    """Print the figures for *ref*."""
    session = Session()
    pgbench = Pgbench(build=session.build(session.builder.newest_stable(), Variant()))
    build = session.build(session.builder.sources.resolve(ref), Variant())
    with measuring():
        prepare(build=build, scale=SCALE, store=templates(session.paths, pgbench))
        for mode in (Mode.READ_ONLY, Mode.READ_WRITE):
            scenario = Scenario(mode=mode, protocol=Protocol.PREPARED, tier=Tier.SMALL, scale=SCALE)
            cell = Cell(scenario=scenario, clients=CLIENTS, profile="default")
            say(f"{blocks} blocks of three runs of {seconds} s of {build.label}, {mode}")
            run = partial(
                measure,
                build=build,
                pgbench=pgbench,
                cell=cell,
                seconds=seconds,
                machine=session.machine,
                paths=session.paths,
                context={"preset": "perf"},
            )
            (always, often), looking = compared(mode, run, blocks)
            Figure(
                figure=f"observing, {mode}: TPS with it / without",
                value=round(always.ratio or 0.0, 4),
                unit="ratio",
                goal=">= 0.998",
                beside=f"95 % interval {always.shown_interval}, "
                f"{blocks} pairs of runs of {seconds} s, "
                f"{CLIENTS} clients",
            ).show()
            likely, low, high = taken(often, looking[OFTEN], looking[EVERY])
            Figure(
                figure=f"observing, {mode}: TPS that a look a second takes, by many",
                value=round(likely, 4),
                unit="%",
                goal="<= 0.2",
                beside=f"95 % interval {low:.3f} … {high:.3f} %; "
                f"{looking[OFTEN].rate:.1f} looks a second gave {often.ratio:.4f} times the TPS; "
                f"CPU ms of a look {looking[OFTEN].cost_ms:.2f}, "
                f"of one a second {looking[EVERY].cost_ms:.2f}",
            ).show()
            Figure(
                figure=f"observing, {mode}: processor time of looking / all there is",
                value=round(
                    looking[EVERY].cost_ms * looking[EVERY].rate / 10 / session.machine.cores, 4
                ),
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
