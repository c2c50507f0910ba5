"""``landspeed bisect``: which commit, release or build variant made the difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click

from base.build import Variant
from base.errors import LandspeedError, MeasureError, UsageError, raise_if
from base.typed import to_json
from benchmarks.workloads.metrics import Metric, metric_named
from landspeed.bisect.commit_range import (
    CommitRange,
    RangeKind,
    commit_range,
    commits_of_release,
    release_range,
)
from landspeed.bisect.model import Culprit
from landspeed.bisect.report import BisectReport
from landspeed.bisect.report_build import report_of
from landspeed.bisect.report_markdown import AnyReport, reports_markdown
from landspeed.bisect.run import bisect
from landspeed.bisect.search import BisectRequest
from landspeed.bisect.sweep import sweep, targets_between
from landspeed.cli.bisect_all import (
    ALL_SIZE,
    all_options,
    bisect_all,
    out_of_time,
    require_same_variant,
)
from landspeed.cli.options.asked import given, open_session, typed_command
from landspeed.cli.options.kinds import flag, share_option
from landspeed.cli.options.output import emit_either, show_dry_run
from landspeed.cli.options.scenario import comparison_options
from landspeed.compare.prepare import sampler_of
from landspeed.compare.side import SCENARIO, CompareScenario
from landspeed.compare.verdict import COUNTED_DIFFERENCE
from landspeed.console.github_log import put_summary
from landspeed.console.params import spell_duration
from landspeed.console.progress import say
from landspeed.session.session import Session
from landspeed.session.target import Target, require_sources

_SIZE = 0.02


@click.command("bisect", epilog=f"A scenario is {SCENARIO}.")
@click.argument("good")
@click.argument("bad")
@comparison_options(
    click.option(
        "--over",
        type=click.Choice([o.value for o in RangeKind]),
        default=RangeKind.COMMITS.value,
        show_default=True,
        help="What to search between GOOD and BAD.",
    ),
    flag("--deep", "With --over releases: go on to the commits of the release found."),
    share_option(
        "--size",
        f"Smallest change to look for, such as 2% or 0.02; by default {_SIZE:.0%}, "
        f"{COUNTED_DIFFERENCE:.1%} of a counted metric, or {ALL_SIZE:.0%} with --all.",
    ),
    all_options,
    flag("--improvement", "Look for what made BAD faster than GOOD."),
    budget=("2h", "Time for everything together"),
    confidence=("95%", "at which a culprit is accepted"),
)
def bisect_(
    *,
    good: str,
    bad: str,
    over: str,
    deep: bool,
    metric: str,
    scenario: CompareScenario,
    variant: Variant,
    memory: int | None,
    size: float | None,
    fresh: bool,
    dry_run: bool,
    atlas: dict[str, Any] | None,
    **rule: Any,
) -> None:
    """Find the commit, release or build variant that made BAD slower than GOOD.

    Both ends are measured first. Each further run measures the candidate that is expected to tell
    the most for its cost, until one candidate is as likely as --confidence asks, or until it is
    clear that nothing changed. Commits that do not build are skipped. Finally the culprit is
    compared with its parent. The report goes to stdout as Markdown. After Ctrl-C the same command
    resumes.

    \b
    Examples:
      landspeed bisect REL_17_0 master
      landspeed bisect a1b2c3d4 master~10 --mode read-write --size 5% --budget 4h
      landspeed bisect REL_16_0 REL_17_0~5 --metric instructions_cold
      landspeed bisect 13 18 --over releases --deep
      landspeed bisect 18:bs1 18:bs32 --over variants --metric instructions
      landspeed bisect REL_17_0 master --all --suite small --size 1% --budget 8h
    """
    ends = Target.parse(good, variant), Target.parse(bad, variant)
    require_sources(ends)
    kind, measured = RangeKind(over), metric_named(metric)
    if atlas is None:
        _require_meaning(kind, rule["budget"], deep=deep)
    else:
        atlas |= {"size": size, "budget": rule["budget"], "fresh": fresh}
        found = bisect_all(ends, typed_command(), **atlas, dry_run=dry_run)
        return raise_if(found)
    session = open_session(memory, counted=measured.exact)
    targets = targets_between(*ends) if kind is RangeKind.VARIANTS else ()
    commits = None if targets else _commits(session, kind, *ends)
    if dry_run:
        for target in targets or ends:
            session.named(target)  # fails if it cannot be built in this variant
        span = commits.text if commits else f"{len(targets)} variants of {ends[0].ref}"
        return _show_dry_run(span, measured, rule["budget"])
    sampler = sampler_of(session, scenario, measured)
    if commits is None:
        return _put([sweep(sampler, targets, rule["budget"], rule["confidence"])])
    size = size or (COUNTED_DIFFERENCE if measured.exact else _SIZE)
    variant = ends[0].variant
    request = BisectRequest(sampler=sampler, commits=commits, variant=variant, size=size, **rule)
    _put(reports := _bisected(request, deep=deep, fresh=fresh))
    raise_if(_unanswered(reports[-1]))


def _require_meaning(kind: RangeKind, budget: float, *, deep: bool) -> None:
    if budget <= 0:
        raise UsageError(
            "a budget of zero measures nothing",
            hint="Give some time, such as --budget 2h; finished runs are kept if it runs out.",
        )
    if deep and kind is not RangeKind.RELEASES:
        raise UsageError(
            "--deep needs --over releases", hint="Add --over releases, or leave out --deep."
        )
    unused = {"size", "fresh", "improvement"}.intersection(given())
    if kind is RangeKind.VARIANTS and unused:
        raise UsageError(
            f"--over variants does not go with --{min(unused)}",
            detail="All variants are measured and ranked; recorded runs count.",
            hint="Leave it out.",
        )


def _commits(session: Session, kind: RangeKind, good: Target, bad: Target) -> CommitRange:
    require_same_variant(good, bad)
    find = commit_range if kind is RangeKind.COMMITS else release_range
    return find(session.builder.sources, good.ref, bad.ref)


def _bisected(request: BisectRequest, *, deep: bool, fresh: bool) -> list[BisectReport]:
    """Carry out *request*; with *deep* go on to the commits of the release that it finds."""
    sources, commits = request.sampler.session.builder.sources, request.commits
    if deep:  # releases without history are an error now, not after the search
        commits_of_release(sources, commits[0], commits[commits.last])
    found = [bisect(request, fresh=fresh)]
    decision = found[0].conclusion.decision
    if deep and isinstance(decision, Culprit):
        parent, culprit = commits[decision.first - 1], commits[decision.last]
        say(f"bisecting the commits from {parent.name} to {culprit.name}")
        deeper = replace(
            request,
            commits=commits_of_release(sources, parent, culprit),
            budget=request.budget - found[0].journal.spent,
        )
        found.append(bisect(deeper, fresh=fresh))
    return [report_of(one, sources.history, typed_command()) for one in found]


def _put(reports: Sequence[AnyReport]) -> None:
    """Print *reports*, and show them in the summary of a job of GitHub Actions."""
    text = reports_markdown(reports)
    put_summary(text)
    facts = [to_json(one) for one in reports]
    emit_either(text, facts[0] if len(facts) == 1 else facts)


def _show_dry_run(span: str, metric: Metric, budget: float) -> None:
    spelled = spell_duration(budget)
    words = f"would bisect {span}: {metric.name}, at most {spelled}"
    facts = {"span": span, "metric": metric.name, "budget": spelled}
    show_dry_run(words, facts, metric=metric)


def _unanswered(report: BisectReport) -> LandspeedError | None:
    """Return the error to exit with if the question was not answered."""
    if report.answer == "reversed":
        better, worse = ("worse", "better") if report.improvement else ("better", "worse")
        hint = "Leave out --improvement" if report.improvement else "Add --improvement"
        return UsageError(
            f"BAD is {better} than GOOD, not {worse}",
            hint=f"{hint} to find the change; the runs are used again.",
        )
    if report.answer == "undecided":
        return out_of_time()
    if report.answer != "refuted":
        return None
    detail, hint = (
        ("Fresh counts do", "The earlier counts are of another state: bisect again with --fresh.")
        if report.exact
        else (
            "A comparison on fresh runs does",
            "The machine may have drifted: bisect again with --fresh when it is quiet.",
        )
    )
    return MeasureError(
        "the commit found does not differ from its parent",
        detail=f"{detail} not show the change.",
        hint=hint,
    )
