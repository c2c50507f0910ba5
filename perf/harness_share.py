"""The harness's share: how much of the measuring phase pgbench really measures.

``python -m perf.harness_share [REF] [SECONDS]`` takes one Run of every cell of the ``regular``
preset's small tier at scale 10, all client_counts that this machine can give, and divides pgbench's
measured seconds by the wall clock from the first Run's begin to the last one's end.
Data are loaded and REF built before: both are done once and kept.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

from base.build import Variant
from benchmarks.applicability import planned_cells
from benchmarks.clients.pgbench import Pgbench
from benchmarks.machine.lock import measuring
from benchmarks.measure import measure, prepare, templates
from benchmarks.workloads.scenario import Tier, preset_named
from landspeed.console.progress import meter, say
from landspeed.session.session import Session
from perf.figure import Figure

SCALE = 10


def main(ref: str, seconds: int | None) -> None:
    """Print the figure for *ref*."""
    session = Session()
    pgbench = Pgbench(build=session.build(session.builder.newest_stable(), Variant()))
    build = session.build(session.builder.sources.resolve(ref), Variant())
    preset = replace(preset_named("regular"), tiers=(Tier.SMALL,))
    each = seconds or preset.seconds
    data = session.paths.server_root
    planned = planned_cells(preset, session.machine, data, {Tier.SMALL: SCALE})
    cells = [p.cell for p in planned if p.reason is None]
    say(f"{len(cells)} runs of {each} s of {build.label}")
    measured = 0.0
    with measuring(), meter("measuring") as shown:
        prepare(build=build, scale=SCALE, store=templates(session.paths, pgbench))
        began = time.monotonic()
        for number, cell in enumerate(cells):
            shown.update(number / len(cells), f"{cell.scenario.mode} -c {cell.clients}")
            record = measure(
                build=build,
                pgbench=pgbench,
                cell=cell,
                seconds=each,
                seed=number + 1,
                machine=session.machine,
                paths=session.paths,
                context={"preset": "perf"},
            )
            measured += record.sample.measured_seconds or 0.0
        wall = time.monotonic() - began
    Figure(
        figure="harness share",
        value=round(measured / wall, 3),
        unit="measured s / wall s",
        goal=">= 0.85",
        beside=f"{measured:.0f} s measured by pgbench in {wall:.0f} s",
    ).show()


if __name__ == "__main__":
    arguments = sys.argv[1:]
    main(arguments[0] if arguments else "18", int(arguments[1]) if len(arguments) > 1 else None)
