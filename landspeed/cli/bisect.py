"""``landspeed bisect``: which commit, release or build variant made the difference."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any

import click
from click.core import ParameterSource

from base.build import Variant
from base.errors import LandspeedError, MeasureError, UsageError
from base.paths import Paths
from benchmarks.clients.pgbench import Pgbench
from benchmarks.counted.valgrind import require_countable
from benchmarks.server.configuration import Configuration
from benchmarks.server.storage import give_back
from benchmarks.workloads.metrics import Metric, metric_named
from benchmarks.workloads.scenario import Cell
from landspeed.bisect.commit_range import CommitRange, Over, commit_line, deep_line, release_line
from landspeed.bisect.model import Culprit, Hypothesis
from landspeed.bisect.report import answer_of, report_facts
from landspeed.bisect.report_markdown import markdown
from landspeed.bisect.report_profile import explanation
from landspeed.bisect.run import BisectRequest, BisectResult, bisect
from landspeed.bisect.sweep import Sweep, sweep, targets_between
from landspeed.bisect.sweep_report import ranking_markdown
from landspeed.cli.options.common import (
    any_metric_option,
    budget_option,
    emit,
    emit_json,
    fresh_option,
    json_option,
    variant_options,
)
from landspeed.cli.options.dry_run import dry_run_option, show_dry_run
from landspeed.cli.options.memory import memory_option, require_limit
from landspeed.cli.options.scenario import scenario_options
from landspeed.compare.prepare import cells_of
from landspeed.compare.side import SCENARIO, CompareScenario
from landspeed.compare.verdict import COUNTED_DIFFERENCE
from landspeed.console.github_log import put_summary
from landspeed.console.params import Duration, Share, spell_duration
from landspeed.console.progress import say
from landspeed.session.session import Session
from landspeed.session.target import Target, require_sources

_SIZE = 0.02


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """The parsed command line."""

    good: Target
    bad: Target
    over: Over
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
        profile, buffers = self.scenario.profile, self.metric.buffers
        if buffers is not None:
            require_countable()  # before the first build
        return cells_of(session, self.scenario, [profile], buffers)[profile]


@click.command("bisect", epilog=f"A scenario is {SCENARIO}.")
@click.argument("good")
@click.argument("bad")
@click.option(
    "--over",
    type=click.Choice([o.value for o in Over]),
    default=Over.COMMITS.value,
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
    type=Share(),
    help=f"Smallest change to look for, such as 2% or 0.02; by default {_SIZE:.0%}, or "
    f"{COUNTED_DIFFERENCE:.1%} of a counted metric.",
)
@click.option("--improvement", is_flag=True, help="Look for what made BAD faster than GOOD.")
@click.option(
    "--confidence",
    type=Share(),
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
        over=Over(over),
        metric=measured,
        size=size or (COUNTED_DIFFERENCE if measured.exact else _SIZE),
        **options,
    )
    _require_meaning(asked)
    require_limit(asked.memory, counted=asked.metric.exact)
    storage = Configuration.named(asked.scenario.profile).storage
    try:
        if asked.over is Over.VARIANTS:
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
    if asked.deep and asked.over is not Over.RELEASES:
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
    )
    found = sweep(wanted)
    title = f"{metric.name} of {asked.good.ref} by variant"
    confidence: float = asked.confidence
    text = ranking_markdown(found, title, metric.unit, confidence)
    put_summary(text)
    if as_json:
        emit_json(found.facts())
    else:
        emit(text)


def _candidates(asked: _Asked, *, as_json: bool) -> None:
    if asked.good.variant != asked.bad.variant:
        raise UsageError(
            "GOOD and BAD are different variants",
            detail=f"GOOD is {asked.good}, BAD is {asked.bad}.",
            hint="Bisect one variant; --over variants ranks them.",
        )
    session = Session.open(memory=asked.memory)
    sources = session.builder.sources
    lines = {Over.COMMITS: commit_line, Over.RELEASES: release_line}
    line = lines[asked.over](sources, asked.good.ref, asked.bad.ref)
    if asked.dry_run:
        # fails if an end cannot be built in this variant
        for end in (asked.good, asked.bad):
            session.named(end)
        span = f"{line.last} {line.over} from {line[0].name} to {line[line.last].name}"
        _show_dry_run(asked, span, as_json=as_json)
        return
    found = [bisect(_case(asked, session, line), fresh=asked.fresh)]
    decision = found[0].conclusion.decision
    if asked.deep and isinstance(decision, Culprit):
        parent, culprit = line[decision.first - 1], line[decision.last]
        say(f"bisecting the commits from {parent.name} to {culprit.name}")
        deeper = deep_line(sources, parent, culprit)
        found.append(bisect(_case(asked, session, deeper), fresh=asked.fresh))
    facts = [report_facts(one, sources.history, _command(), explanation(one)) for one in found]
    text = "\n\n".join(map(markdown, facts))
    put_summary(text)
    if as_json:
        emit_json(facts[0] if len(facts) == 1 else facts)
    else:
        emit(text)
    error = _unanswered(found[-1])
    if error is not None:
        raise error


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
            is_duration = isinstance(parameter.type, Duration)
            words.append(spell_duration(value) if is_duration else str(value))
    return shlex.join(words)


def _case(asked: _Asked, session: Session, line: CommitRange) -> BisectRequest:
    return BisectRequest(
        session=session,
        line=line,
        variant=asked.good.variant,
        cell=asked.cell(session),
        metric=asked.metric,
        pgbench=Pgbench(build=session.pgbench_build()),
        seconds=asked.scenario.seconds,
        quest=Hypothesis(
            last=line.last,
            size=asked.size,
            confidence=asked.confidence,
            is_exact=asked.metric.exact,
        ),
        budget=asked.budget,
        improvement=asked.improvement,
    )


def _unanswered(found: BisectResult) -> LandspeedError | None:
    """Return the error to exit with if the question was not answered."""
    match answer_of(found):
        case "reversed":
            better, worse = ("worse", "better") if found.case.improvement else ("better", "worse")
            hint = "Leave out --improvement" if found.case.improvement else "Add --improvement"
            return UsageError(
                f"BAD is {better} than GOOD, not {worse}",
                hint=f"{hint} to find the change; the runs are used again.",
            )
        case "undecided":
            return MeasureError(
                "undecided: the budget is spent",
                hint="Give the same command a larger --budget; it resumes from here.",
            )
        case "refuted" if found.case.quest.is_exact:
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
