"""``landspeed compare``: which of two or more servers is faster, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from base.build import Build, Variant
from base.errors import LandspeedError, MeasureError, SlowerError, UsageError
from benchmarks.workloads.catalog import Workload
from benchmarks.workloads.metrics import INSTRUCTIONS, metric_named
from builders.source import Source
from landspeed.campaign.patch import Sides, patched, since_merge_base
from landspeed.campaign.suite_brief import suite_brief
from landspeed.campaign.suite_compare import SuiteComparison, compare_suite
from landspeed.campaign.suite_report import suite_mail, suite_markdown, suite_text
from landspeed.cli.options.asked import given, open_session, require_none_of, typed_command
from landspeed.cli.options.kinds import flag, packed, share_option, together
from landspeed.cli.options.output import emit_either, show_dry_run
from landspeed.cli.options.scenario import SCENARIO_WORDS, comparison_options
from landspeed.cli.options.workloads import workload_options
from landspeed.compare.layouts import check_layouts, in_layout, require_layouts
from landspeed.compare.plan import ComparePlan, CompareState
from landspeed.compare.prepare import plan_comparison
from landspeed.compare.report import comparison_facts, comparison_markdown, comparison_text
from landspeed.compare.run import compare
from landspeed.compare.side import SCENARIO, SIDE, CompareScenario, Side
from landspeed.compare.verdict import StoppingRule, Verdict
from landspeed.console.format import counted, percent
from landspeed.console.github_log import put_summary
from landspeed.console.markdown import code_block
from landspeed.console.progress import say
from landspeed.console.table import as_text
from landspeed.session.session import Session
from landspeed.session.target import Target

# A suite is counted: once on each side, in cells of its own.
_NOT_WITH_A_SUITE = (
    *("metric", "precision", "budget", "confidence", "narrow", "memory", "aa", "layouts", "fresh"),
    *("configuration", *SCENARIO_WORDS),
)


@dataclass(frozen=True, kw_only=True)
class _Suite:
    """Workloads to compare by and, as shares, the changes that are shown and that are refused.

    ``patches`` are applied to the one side there is then; with ``tips`` the first side is compared
    as it is and not where the second left it.
    """

    workloads: list[Workload]
    size: float
    mail: bool
    brief: bool
    patches: tuple[Path, ...]
    tips: bool
    fail_on: float | None


_OWN = ("size", "mail", "brief", "patches", "tips", "fail_on")


def _suite(workloads: list[Workload], **own: Any) -> _Suite | None:
    if workloads:
        require_none_of(_NOT_WITH_A_SUITE, "--suite")
        suite = _Suite(workloads=workloads, **own)
        if suite.fail_on is not None and suite.fail_on < suite.size:
            raise UsageError(
                f"--fail-on {percent(suite.fail_on)} is less than --size {percent(suite.size)}",
                hint="Give a smaller --size as well; below 0.2 % a change may be chance.",
            )
        return suite
    if wrong := [name for name in own if name in given()]:
        option = {"patches": "patch", "fail_on": "fail-on"}.get(wrong[0], wrong[0])
        raise UsageError(f"--{option} needs --suite or --workload")
    return None


_suite_options = together(
    workload_options,
    share_option(
        "--size", "With --suite or --workload: smallest change that is shown.", default="0.2%"
    ),
    flag("--mail", "With --suite or --workload: text of 72 columns."),
    flag("--brief", "With --suite or --workload: five sentences."),
    click.option(
        "--patch",
        "patches",
        multiple=True,
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE...",
        help='With --suite or --workload: compare SIDE with SIDE and this series, as "git am" '
        "applies it. Further words are further files.",
    ),
    flag(
        "--tips",
        "With --suite or --workload: compare two branches as they are; by default the first "
        "side is the commit at which the second left it.",
    ),
    share_option(
        "--fail-on",
        "With --suite or --workload: fail if a workload is slower by SHARE or more, or can be "
        "counted on the first side only.",
    ),
    packed(("workloads", *_OWN), "suite", _suite),
)
"""--suite and what goes with it; the command receives it as ``suite``, or None."""


@click.command("compare", epilog=f"SIDE is {SIDE} or @NAME; a scenario is {SCENARIO}.")
@click.argument("sides", nargs=-1, required=True, metavar="SIDE SIDE...")
@_suite_options
@comparison_options(
    share_option(
        "--precision", "Largest difference that counts as SAME, such as 1% or 0.01.", default="1%"
    ),
    flag(
        "--narrow",
        "Continue until the interval is no wider than --precision, even if the verdict is reached "
        "earlier.",
    ),
    flag("--aa", "Compare a server with a copy of itself."),
    flag(
        "--layouts",
        "If one side is faster, build both with functions at other addresses, up to four "
        "times, and see whether it is faster there too.",
    ),
    budget=("30min", "Time for all runs together"),
    confidence=("99.9%", "that all verdicts are right"),
)
def compare_(
    *,
    sides: tuple[str, ...],
    suite: _Suite | None,
    variant: Variant,
    metric: str,
    scenario: CompareScenario,
    precision: float,
    budget: float,
    confidence: float,
    narrow: bool,
    memory: int | None,
    aa: bool,
    layouts: bool,
    fresh: bool,
    dry_run: bool,
) -> None:
    """Compare two or more servers: FASTER, SLOWER, SAME or UNDECIDED.

    The servers run in random order on freshly started clusters until every verdict is reached or
    the budget is spent. Each verdict compares one side with the first side; by default at most
    1 comparison in 1,000 gives a wrong verdict. After Ctrl-C the same command resumes.

    --suite and --workload compare the instructions of workloads of the catalog: of two branches,
    the second with the commit at which it left the first; of cf/NUMBER, a patch of the commitfest.

    \b
    Examples:
      landspeed compare 17 18
      landspeed compare 18:bs2 18:bs4 18 --scenario read-write/prepared/small/c4 --budget 2h
      landspeed compare 18/default 18/tuned --clients 8 --metric tps --json
      landspeed compare 18 --aa --budget 5min
      landspeed compare master my-branch --layouts
      landspeed compare master my-branch --suite standard --mail
      landspeed compare master --suite small --patch v3-*.patch
    """
    if suite:
        return _compare_suite(sides, suite, variant, dry_run=dry_run)
    words = sides * 2 if aa and len(sides) == 1 else sides
    if len(words) < 2:
        hint = "Name two sides or more, or give --aa to compare one with a copy of itself."
        raise UsageError("nothing to compare it with", hint=hint)
    parsed = [Side.parse(word, variant, scenario.profile) for word in words]
    measured = metric_named(metric)
    session = open_session(memory, counted=measured.exact)
    if layouts:
        require_layouts(parsed, counted=measured.exact)
    if dry_run:
        return _show_dry_run(session, parsed, metric)
    with ExitStack() as copies:
        planned = partial(
            plan_comparison,
            session,
            scenario=scenario,
            metric=measured,
            budget=budget,
            rule=StoppingRule(precision=precision, confidence=confidence, narrow=narrow),
            copies=copies if aa else None,
        )
        _compare_servers(session, planned, parsed, fresh=fresh, layouts=layouts)


def _show_dry_run(session: Session, sides: list[Side], metric: str) -> None:
    listed = _listed(session, [session.named(side.target) for side in sides])
    text = f"would compare {' and '.join(map(str, sides))}: {metric}"
    facts = {"metric": metric, "listed": listed}
    show_dry_run(text, facts, metric=metric_named(metric))


def _suite_sides(
    session: Session, words: tuple[str, ...], suite: _Suite, variant: Variant
) -> Sides:
    """Return the sides that *words* spell: two, or one and files of a patch."""
    if suite.patches:
        base = Target.parse(words[0], variant)
        # a shell puts all files that a pattern matches after the option, which takes one
        series = [*suite.patches, *map(Path, words[1:])]
        if missing := [str(path) for path in series if not path.is_file()]:
            raise UsageError(f'there is no file "{missing[0]}"', hint="--patch takes one SIDE.")
        return patched(session, base, series)
    if len(words) != 2:
        raise UsageError("a suite compares two servers", hint="Name two sides.")
    before, after = (Target.parse(word, variant) for word in words)
    if suite.tips:
        return Sides(before=before, after=after)
    return since_merge_base(session, before, after)


def _compare_suite(
    words: tuple[str, ...], suite: _Suite, variant: Variant, *, dry_run: bool
) -> None:
    """Compare the two sides that *words* spell by the instructions of the workloads of *suite*."""
    session, workloads = Session(only_counts=True), suite.workloads
    try:
        sides = _suite_sides(session, words, suite, variant)
        if dry_run:
            _show_suite(session, sides, workloads)
            return
        if sides.patch:
            say(sides.patch)
        found = compare_suite(session, sides, workloads, suite.size)
    except LandspeedError as error:
        # whoever reads the summary of a job need not search its log for the reason
        put_summary(f"Not compared:\n\n{code_block(str(error))}")
        raise
    put_summary(suite_markdown(found))
    if suite.brief:
        text = suite_brief(found, " ".join(words))
    else:
        text = suite_mail(found, typed_command()) if suite.mail else as_text(suite_text(found))
    emit_either(text, found.facts())
    if suite.fail_on is not None:
        _require_fast(found, suite.fail_on)


def _require_fast(found: SuiteComparison, allowed: float) -> None:
    """Raise SlowerError if a workload is slower by *allowed*, MeasureError if that is not known."""
    if found.slower >= allowed:
        raise SlowerError(
            f"slower by up to {percent(found.slower)}",
            detail=f"--fail-on allows less than {percent(allowed)}.",
        )
    if found.lost:
        raise MeasureError(
            f"{found.after} could not be counted in {counted(len(found.lost), 'workload')}",
            detail=f"{found.before} was: {', '.join(found.lost)}.",
            hint="--fail-on needs them all: fix the cause, or choose others with --workload.",
        )


def _show_suite(session: Session, sides: Sides, workloads: list[Workload]) -> None:
    """Print what would be counted; the commits, too, become step outputs."""
    named = [session.named(target) for target in (sides.before, sides.after)]
    text = f"would count {counted(len(workloads), 'workload')} on {sides.before} and {sides.after}"
    before, after = (one.origin.commit or one.origin.name for one in named)
    facts = {
        "before": before,
        "after": after,
        "listed": _listed(session, named),
        "workloads": [one.name for one in workloads],
    }
    show_dry_run(text, facts, metric=metric_named(INSTRUCTIONS))


def _listed(session: Session, named: list[Source | Build]) -> bool:
    """Return whether all sources are upstream's or a listed remote's: see `Sources.is_listed`."""
    sources = [one for one in named if isinstance(one, Source)]
    return all(map(session.builder.sources.is_listed, sources))


def _compare_servers(
    session: Session,
    planned: Callable[..., ComparePlan],
    sides: Sequence[Side],
    *,
    fresh: bool,
    layouts: bool,
) -> None:
    """Compare *sides*, with *layouts* also in others if they differ, and print what was found."""

    def compared(sides: Sequence[Side]) -> tuple[ComparePlan, CompareState]:
        plan = planned(sides=sides)
        plan.require_different()
        say(_announced(plan))
        return plan, compare(session, plan, fresh=fresh)

    def verdict_in(flag: str) -> Verdict:
        _, there = compared([in_layout(side, flag) for side in sides])
        return there.comparison.findings[0].verdict

    plan, state = compared(sides)
    text, facts = as_text(comparison_text(plan, state)), comparison_facts(plan, state)
    markdown = comparison_markdown(plan, state)
    try:
        if layouts and (check := check_layouts(state.comparison.findings[0].verdict, verdict_in)):
            text, markdown = f"{text}\n\n{check}", f"{markdown}\n\n{check}"
            facts |= {"layouts": check.facts()}
    finally:  # whatever ends the check, the comparison itself is done
        put_summary(markdown)
        emit_either(text, facts)


def _announced(plan: ComparePlan) -> str:
    first, *others = plan.sides
    cell = first.cell
    scenario = f"{cell.scenario.mode} {cell.scenario.protocol} {cell.scenario.tier}"
    return (
        f"comparing {', '.join(other.label for other in others)} with {first.label}: {scenario} "
        f"at scale {cell.scenario.scale}, {counted(cell.clients, 'client')}, "
        + (f"{cell.buffers}, counted" if cell.buffers else f"runs of {plan.seconds} s")
    )
