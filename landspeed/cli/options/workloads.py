"""--workload and --suite: workloads of the catalog; --script and --load: one's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from rich.table import Table

from benchmarks.workloads.catalog import SUITES, Workload, choose
from landspeed.cli.options.kinds import packed, together
from landspeed.console.table import rich_table

MODES = "One of read-only, read-write, tpcb-like, or a workload of the catalog."

script_options = together(
    click.option(
        "--script",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="A script of your own, as pgbench -f takes it, in the place of a mode.",
    ),
    click.option(
        "--load",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="With --script: SQL that makes its tables, beside pgbench's.",
    ),
)


workload_options = together(
    click.option(
        "--workload",
        multiple=True,
        metavar="PATTERN",
        help="Measure the workloads whose names match, like 'copy-*'; may be repeated.",
    ),
    click.option(
        "--suite",
        type=click.Choice(SUITES),
        help="Measure the workloads of this suite; each contains the ones before it.",
    ),
    packed(
        ("workload", "suite"),
        "workloads",
        lambda workload, suite: choose(workload, suite) if workload or suite else [],
    ),
)
"""--workload and --suite; the command receives the ``workloads`` that they choose."""


def catalog_table(workloads: Sequence[Workload]) -> Table:
    """Return a table of *workloads*: name, family, versions, what each guards."""
    rows = [(one.name, one.family, str(one.range), one.guards) for one in workloads]
    return rich_table(("workload", "family", "versions", "guards"), rows)
