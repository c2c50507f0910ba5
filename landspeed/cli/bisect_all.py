"""``landspeed bisect --all``: every commit that changed a workload."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from base.errors import LandspeedError, MeasureError, UsageError
from base.typed import to_json
from benchmarks.workloads.catalog import Workload, choose
from benchmarks.workloads.metrics import INSTRUCTIONS, metric_named
from landspeed.atlas.estimate import estimate, left_of, summary_of
from landspeed.atlas.kinds import find_kinds
from landspeed.atlas.report import atlas_markdown
from landspeed.atlas.report_build import atlas_report
from landspeed.atlas.request import AtlasRequest
from landspeed.atlas.run import Atlas
from landspeed.cli.options.asked import given, require_none_of
from landspeed.cli.options.kinds import flag, packed, together
from landspeed.cli.options.output import emit_either, show_dry_run
from landspeed.cli.options.scenario import SCENARIO_WORDS
from landspeed.cli.options.workloads import workload_options
from landspeed.console.format import percent
from landspeed.console.github_log import put_summary
from landspeed.console.progress import say
from landspeed.farm.atlas_jobs import atlas_outputs
from landspeed.farm.matrix import MOST_JOBS
from landspeed.session.session import Session
from landspeed.session.target import Target
from landspeed.site.atlas_pages import write_atlas_pages

ALL_SIZE = 0.01
# Two counts of one server may be 0.2 % apart.
_LEAST_SIZE = 0.004
_SUITE = "standard"
_OWN = ("workload", "suite", "grid", "machines", "share")
_OTHERS = (
    *("over", "deep", "metric", "improvement", "confidence", "memory", "configuration"),
    *SCENARIO_WORDS,
)


def _atlas(
    *,
    every: bool,
    workloads: list[Workload],
    grid: int,
    machines: int | None,
    share: str | None,
) -> dict[str, Any] | None:
    """Return what the options of --all say; UsageError if they do not go with the others."""
    if every:
        require_none_of(_OTHERS, "--all")
    elif any(name in given() for name in _OWN):
        raise UsageError(
            "--suite, --workload, --grid, --machines and --share need --all",
            hint="Add --all; without it one scenario is searched for one commit.",
        )
    if machines and not click.get_current_context().params["dry_run"]:
        raise UsageError(
            "--machines needs --dry-run",
            hint="Add --dry-run: each machine then takes the --share that it prints.",
        )
    chosen = {"workloads": workloads or choose([], _SUITE), "spacing": grid}
    return {**chosen, "machines": machines, "share": share} if every else None


all_options = together(
    flag(
        "--all",
        "Find every commit that changed the instructions of a workload of --suite or --workload, "
        "slower or faster, in one search. What is found is counted again beside its parent. Counts "
        "are kept, also for another --size, --grid or range; --budget is for this invocation, 0 "
        "only reports what is known.",
        name="every",
    ),
    workload_options,
    click.option(
        "--grid",
        type=click.IntRange(1),
        default=100,
        show_default=True,
        help="With --all: count at least one of so many commits. Only changes that cancel between "
        "two counted commits can be missed.",
    ),
    click.option(
        "--machines",
        type=click.IntRange(1, MOST_JOBS),
        metavar="N",
        help="With --all --dry-run: divide what is left among so many machines; the outputs of the "
        "step have the share of each.",
    ),
    click.option(
        "--share",
        metavar="FIRST..LAST",
        help="With --all: count only commits from FIRST to LAST, both included, because other "
        "machines count the rest; what is left is reported by the next search.",
    ),
    packed(("every", "workloads", "grid", "machines", "share"), "atlas", _atlas),
)
"""--all and its options; the command receives what they say as ``atlas``, or None."""


def out_of_time() -> LandspeedError:
    """Return the error of a search whose budget is spent."""
    return MeasureError(
        "undecided: the budget is spent",
        hint="Give the same command a larger --budget; it resumes from here.",
    )


def require_same_variant(good: Target, bad: Target) -> None:
    """UsageError if the ends are different variants."""
    if good.variant != bad.variant:
        raise UsageError(
            "GOOD and BAD are different variants",
            detail=f"GOOD is {good}, BAD is {bad}.",
            hint="Bisect one variant; --over variants ranks them.",
        )


def bisect_all(
    ends: tuple[Target, Target],
    command: str,
    *,
    workloads: Sequence[Workload],
    size: float | None,
    spacing: int,
    budget: float,
    fresh: bool,
    machines: int | None,
    share: str | None,
    dry_run: bool,
) -> LandspeedError | None:
    """Print every commit that changed one of *workloads*; return an error if time ran out.

    With a *budget* of zero nothing is counted, and what is known is printed. Of a *share* only what
    is left of it is.
    """
    size = size or ALL_SIZE
    if size < _LEAST_SIZE:
        raise UsageError(
            f"--size must be at least {percent(_LEAST_SIZE)} with --all",
            detail="Two counts of one server may be 0.2 % apart.",
        )
    require_same_variant(*ends)
    session = Session()
    request = AtlasRequest.between(
        session, ends, workloads, size=size, spacing=spacing, budget=budget, share=_parse(share)
    )
    reads = dry_run or not budget
    with request.journal(fresh=fresh, alone=not reads) as journal:
        atlas = Atlas(request=request, journal=journal)
        if not atlas.cells:
            raise UsageError(
                f"{ends[0].ref} cannot count any of these workloads",
                hint='"landspeed list --workloads" shows from which version on each of them runs.',
            )
        if not reads:
            atlas.run(find_kinds)
        if dry_run:
            _show_plan(atlas, ends, machines)
            return None
        if share:
            facts = estimate(atlas)
            emit_either(left_of(facts), facts)
            return None
        report = atlas_report(atlas, command)
    page = write_atlas_pages(report, session.paths)
    say(f"its page: {page}; landspeed publish adds it to the site")
    text = atlas_markdown(report)
    put_summary(text)
    emit_either(text, to_json(report))
    return None if report.complete or not budget else out_of_time()


def _show_plan(atlas: Atlas, ends: tuple[Target, Target], machines: int | None) -> None:
    facts = estimate(atlas)
    text = summary_of(facts, atlas.request.size)
    if machines:
        facts |= atlas_outputs(atlas, ends, machines)
        shares = (f"{one['name']}: --share {one['share']}" for one in facts["shares"])
        text = "\n".join([text, *shares])
    show_dry_run(text, facts, metric=metric_named(INSTRUCTIONS))


def _parse(share: str | None) -> tuple[str, str] | None:
    if share is None:
        return None
    first, dots, last = share.partition("..")
    if not (first and dots and last):
        raise UsageError(f'"{share}" is not a share', hint="Write FIRST..LAST, two commits.")
    return first, last
