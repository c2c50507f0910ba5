"""``landspeed bisect``: which commit, release or build variant made the difference."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click
from click.core import ParameterSource

from base.build import Variant
from base.errors import LandspeedError, MeasureError, UsageError, raise_if
from base.paths import Paths
from benchmarks.clients.pgbench import Pgbench
from benchmarks.counted.valgrind import require_countable
from benchmarks.server.configuration import Configuration
from benchmarks.server.storage import give_back
from benchmarks.workloads.metrics import Metric, metric_named
from benchmarks.workloads.scenario import Cell
from landspeed.bisect.commit_range import (
    CommitRange,
    RangeKind,
    commit_range,
    commits_of_release,
    release_range,
)
from landspeed.bisect.model import Culprit, Hypothesis
from landspeed.bisect.report import BisectReport
from landspeed.bisect.report_build import report_of
from landspeed.bisect.report_markdown import AnyReport, reports_markdown
from landspeed.bisect.run import BisectRequest, bisect
from landspeed.bisect.sweep import Sweep, sweep, targets_between
from landspeed.cli.options.common import (
    any_metric_option,
    budget_option,
    emit_either,
    fresh_option,
    json_option,
    variant_options,
)
from landspeed.cli.options.dry_run import dry_run_option, show_dry_run
from landspeed.cli.options.memory import memory_option, require_limit
from landspeed.cli.options.scenario import scenario_options
from landspeed.compare.prepare import cell_of
from landspeed.compare.side import SCENARIO, CompareScenario
from landspeed.compare.verdict import COUNTED_DIFFERENCE
from landspeed.console.format import counted
from landspeed.console.github_log import put_summary
from landspeed.console.params import parse_share, spell_duration
from landspeed.console.progress import say
from landspeed.session.session import Session
from landspeed.session.target import Target, require_sources

_SIZE = 0.02


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """The parsed command line."""

    good: Target
    bad: Target
    over: RangeKind
    scenario: CompareScenario
    metric: Metric
    size: float
    improvement: bool
    confidence: float
    budget: float
    deep: bool
    fresh: bool
    memory: int | None
    dry_run: bool

    def cell(self, session: Session) -> Cell:
        if self.metric.exact:
            require_countable()  # before the first build
        return cell_of(session, self.scenario, self.metric.buffers)


@click.command("bisect", epilog=f"A scenario is {SCENARIO}.")
@click.argument("good")
@click.argument("bad")
@click.option(
    "--over",
    type=click.Choice([o.value for o in RangeKind]),
    default=RangeKind.COMMITS.value,
    show_default=True,
    help="What to search between GOOD and BAD.",
)
@click.option(
    "--deep", is_flag=True, help="With --over releases: go on to the commits of the release found."
)
@any_metric_option
@scenario_options
@variant_options
@memory_option
@click.option(
    "--size",
    type=parse_share,
    metavar="SHARE",
    help=f"Smallest change to look for, such as 2% or 0.02; by default {_SIZE:.0%}, or "
    f"{COUNTED_DIFFERENCE:.1%} of a counted metric.",
)
@click.option("--improvement", is_flag=True, help="Look for what made BAD faster than GOOD.")
@click.option(
    "--confidence",
    type=parse_share,
    metavar="SHARE",
    default="95%",
    show_default=True,
    help="Probability at which a culprit is accepted, such as 95%.",
)
@budget_option("2h", "Time for everything together")
@fresh_option
@dry_run_option
@json_option
def bisect_(
    *,
    good: str,
    bad: str,
    over: str,
    metric: str,
    size: float | None,
    variant: Variant,
    as_json: bool,
    **options: Any,
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
    """
    ends = [Target.parse(word, variant) for word in (good, bad)]
    require_sources(ends)
    measured = metric_named(metric)
    asked = _Asked(
        good=ends[0],
        bad=ends[1],
        over=RangeKind(over),
        metric=measured,
        size=size or (COUNTED_DIFFERENCE if measured.exact else _SIZE),
        **options,
    )
    _require_meaning(asked)
    require_limit(asked.memory, counted=asked.metric.exact)
    storage = Configuration.named(asked.scenario.profile).storage
    try:
        if asked.over is RangeKind.VARIANTS:
            _variants(asked, as_json=as_json)
        else:
            _candidates(asked, as_json=as_json)
    finally:
        if storage is not None:
            give_back([storage], Paths.find().server_root)


def _require_meaning(asked: _Asked) -> None:
    if asked.budget <= 0:
        raise UsageError(
            "a budget of zero measures nothing",
            hint="Give some time, such as --budget 2h; finished runs are kept if it runs out.",
        )
    if asked.deep and asked.over is not RangeKind.RELEASES:
        raise UsageError(
            "--deep needs --over releases", hint="Add --over releases, or leave out --deep."
        )


def _variants(asked: _Asked, *, as_json: bool) -> None:
    targets = targets_between(asked.good, asked.bad)
    session = Session.open(memory=asked.memory)
    metric = asked.metric
    for target in targets:
        session.named(target)
    if asked.dry_run:
        _show_dry_run(asked, f"{len(targets)} variants of {asked.good.ref}", as_json=as_json)
        return
    wanted = Sweep(
        session=session,
        targets=targets,
        cell=asked.cell(session),
        metric=metric,
        pgbench=Pgbench(build=session.pgbench_build()),
        seconds=asked.scenario.seconds,
        budget=asked.budget,
        confidence=asked.confidence,
    )
    _put([sweep(wanted)], as_json=as_json)


def _candidates(asked: _Asked, *, as_json: bool) -> None:
    if asked.good.variant != asked.bad.variant:
        raise UsageError(
            "GOOD and BAD are different variants",
            detail=f"GOOD is {asked.good}, BAD is {asked.bad}.",
            hint="Bisect one variant; --over variants ranks them.",
        )
    session = Session.open(memory=asked.memory)
    sources = session.builder.sources
    ranges = {RangeKind.COMMITS: commit_range, RangeKind.RELEASES: release_range}
    commits = ranges[asked.over](sources, asked.good.ref, asked.bad.ref)
    if asked.dry_run:
        # fails if an end cannot be built in this variant
        for end in (asked.good, asked.bad):
            session.named(end)
        first, last = commits[0], commits[commits.last]
        span = f"{counted(commits.last, commits.kind.noun)} from {first.name} to {last.name}"
        _show_dry_run(asked, span, as_json=as_json)
        return
    found = [bisect(_request(asked, session, commits), fresh=asked.fresh)]
    decision = found[0].conclusion.decision
    if asked.deep and isinstance(decision, Culprit):
        parent, culprit = commits[decision.first - 1], commits[decision.last]
        say(f"bisecting the commits from {parent.name} to {culprit.name}")
        deeper = commits_of_release(sources, parent, culprit)
        found.append(bisect(_request(asked, session, deeper), fresh=asked.fresh))
    reports = [report_of(one, sources.history, _command()) for one in found]
    _put(reports, as_json=as_json)
    raise_if(_unanswered(reports[-1]))


def _put(reports: Sequence[AnyReport], *, as_json: bool) -> None:
    """Print *reports*, and show them in the summary of a job of GitHub Actions."""
    text = reports_markdown(reports)
    put_summary(text)
    facts = [one.facts() for one in reports]
    emit_either(text, facts[0] if len(facts) == 1 else facts, as_json=as_json)


def _show_dry_run(asked: _Asked, span: str, *, as_json: bool) -> None:
    budget = spell_duration(asked.budget)
    words = f"would bisect {span}: {asked.metric.name}, at most {budget}"
    facts = {"span": span, "metric": asked.metric.name, "budget": budget}
    show_dry_run(words, facts, as_json=as_json, metric=asked.metric)


def _command() -> str:
    """Return the command line as it can be typed again."""
    context = click.get_current_context()
    words = ["landspeed", "bisect"]
    for parameter in context.command.params:
        value: Any = context.params.get(str(parameter.name))
        source = context.get_parameter_source(str(parameter.name))
        given = source in (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)
        if not given or parameter.name in ("fresh", "as_json"):
            continue
        if isinstance(parameter, click.Option):
            words.append(parameter.opts[0])
        if value is not True:
            words.append(spell_duration(value) if parameter.name == "budget" else str(value))
    return shlex.join(words)


def _request(asked: _Asked, session: Session, commits: CommitRange) -> BisectRequest:
    return BisectRequest(
        session=session,
        commits=commits,
        variant=asked.good.variant,
        cell=asked.cell(session),
        metric=asked.metric,
        pgbench=Pgbench(build=session.pgbench_build()),
        seconds=asked.scenario.seconds,
        hypothesis=Hypothesis(
            last=commits.last,
            size=asked.size,
            confidence=asked.confidence,
            counted=asked.metric.exact,
        ),
        budget=asked.budget,
        improvement=asked.improvement,
    )


def _unanswered(report: BisectReport) -> LandspeedError | None:
    """Return the error to exit with if the question was not answered."""
    match report.answer:
        case "reversed":
            better, worse = ("worse", "better") if report.improvement else ("better", "worse")
            hint = "Leave out --improvement" if report.improvement else "Add --improvement"
            return UsageError(
                f"BAD is {better} than GOOD, not {worse}",
                hint=f"{hint} to find the change; the runs are used again.",
            )
        case "undecided":
            return MeasureError(
                "undecided: the budget is spent",
                hint="Give the same command a larger --budget; it resumes from here.",
            )
        case "refuted" if report.exact:
            return MeasureError(
                "the commit found does not differ from its parent",
                detail="Fresh counts do not show the change.",
                hint="The earlier counts are of another state: bisect again with --fresh.",
            )
        case "refuted":
            return MeasureError(
                "the commit found does not differ from its parent",
                detail="A comparison on fresh runs does not show the change.",
                hint="The machine may have drifted: bisect again with --fresh when it is quiet.",
            )
    return None
