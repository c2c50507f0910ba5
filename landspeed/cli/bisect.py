"""``landspeed bisect``: which commit, release or block size made the difference, if one did."""

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
from benchmarks.workloads.metrics import METRICS, Metric, metric_named
from benchmarks.workloads.scenario import Cell
from landspeed.bisect.commit_range import CommitRange, Over, commit_line, deep_line, release_line
from landspeed.bisect.model import Culprit, Hypothesis
from landspeed.bisect.report import answer_of, report_facts
from landspeed.bisect.report_markdown import markdown
from landspeed.bisect.report_profile import explanation
from landspeed.bisect.run import BisectRequest, BisectResult, bisect
from landspeed.bisect.sweep import Sweep, sweep, targets_between
from landspeed.bisect.sweep_report import ranking_markdown
from landspeed.cli.options.common import emit, emit_json, json_option, variant_options
from landspeed.cli.options.dry_run import dry_run_option, foretell
from landspeed.cli.options.memory import memory_option, require_limit
from landspeed.cli.options.scenario import question_options
from landspeed.compare.prepare import cells_of
from landspeed.compare.side import SCENARIO, CompareScenario
from landspeed.compare.verdict import COUNTED_DIFFERENCE
from landspeed.console.github_log import put_summary
from landspeed.console.params import parse_duration, parse_share
from landspeed.console.progress import say
from landspeed.session.session import Session
from landspeed.session.target import Target, require_sources

_SIZE, _EXACT_SIZE = "2%", f"{COUNTED_DIFFERENCE:.1%}"


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """What the command line asks for, parsed."""

    good: Target
    bad: Target
    over: Over
    question: CompareScenario
    options: dict[str, Any]

    @property
    def is_exact(self) -> bool:
        return self.metric.exact

    @property
    def metric(self) -> Metric:
        return metric_named(self.options["metric"])

    @property
    def size(self) -> float:
        return parse_share(self.options["size"] or (_EXACT_SIZE if self.is_exact else _SIZE))

    def cell(self, session: Session) -> Cell:
        profile, buffers = self.question.profile, self.metric.buffers
        if buffers is not None:
            require_countable()  # said now, not after the first build
        return cells_of(session, self.question, [profile], buffers)[profile]


@click.command("bisect", epilog=f"A scenario is {SCENARIO}.")
@click.argument("good")
@click.argument("bad")
@click.option(
    "--over",
    type=click.Choice([o.value for o in Over]),
    default=Over.COMMITS.value,
    show_default=True,
    help="What lies between GOOD and BAD.",
)
@click.option("--deep", is_flag=True, help="From the release found on into its commits.")
@click.option(
    "--metric",
    type=click.Choice([metric.name for metric in METRICS]),
    default="latency",
    show_default=True,
    help="All but latency and tps are counted, exactly, on any machine.",
)
@question_options
@variant_options
@memory_option
@click.option(
    "--size", help=f"The smallest step looked for: {_SIZE}, of what is counted {_EXACT_SIZE}."
)
@click.option("--improvement", is_flag=True, help="Look for what made it better.")
@click.option("--confidence", default="95%", show_default=True, help="When to stop.")
@click.option("--budget", default="2h", show_default=True, help="Time for all of it.")
@click.option("--fresh", is_flag=True, help="Begin anew; what is recorded stays.")
@dry_run_option
@json_option
def bisect_(
    *,
    good: str,
    bad: str,
    over: str,
    question: CompareScenario,
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
    asked = _Asked(good=ends[0], bad=ends[1], over=Over(over), question=question, options=options)
    _require_meaning(asked)
    require_limit(options["memory"], counted=asked.is_exact)
    storage = Configuration.named(question.profile).storage
    try:
        if asked.over is Over.VARIANTS:
            _variants(asked, as_json=as_json)
        else:
            _candidates(asked, as_json=as_json)
    finally:
        if storage is not None:
            give_back([storage], Paths.find().server_root)


def _require_meaning(asked: _Asked) -> None:
    if parse_duration(asked.options["budget"]) <= 0:
        raise UsageError(
            "a budget of zero measures nothing",
            hint="Give it time, such as --budget 2h; what is measured is kept if it runs out.",
        )
    if asked.options["deep"] and asked.over is not Over.RELEASES:
        raise UsageError(
            "--deep goes from releases into commits", hint="Add --over releases, or leave it out."
        )
    for share in (asked.options["confidence"], asked.options["size"] or _SIZE):
        parse_share(share)


def _variants(asked: _Asked, *, as_json: bool) -> None:
    targets = targets_between(asked.good, asked.bad)
    session = Session.open(memory=asked.options["memory"])
    metric = asked.metric
    for target in targets:
        session.named(target)
    if asked.options["dry_run"]:
        _foretold(asked, f"{len(targets)} variants of {asked.good.ref}", as_json=as_json)
        return
    wanted = Sweep(
        session=session,
        targets=targets,
        cell=asked.cell(session),
        metric=metric,
        pgbench=Pgbench(build=session.pgbench_build()),
        seconds=asked.question.seconds,
        budget=parse_duration(asked.options["budget"]),
    )
    found = sweep(wanted)
    title = f"{metric.name} of {asked.good.ref} by variant"
    confidence = parse_share(asked.options["confidence"])
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
    session = Session.open(memory=asked.options["memory"])
    sources = session.builder.sources
    lines = {Over.COMMITS: commit_line, Over.RELEASES: release_line}
    line = lines[asked.over](sources, asked.good.ref, asked.bad.ref)
    if asked.options["dry_run"]:
        # both ends can be built in this variant
        for end in (asked.good, asked.bad):
            session.named(end)
        span = f"{line.last} {line.over} from {line[0].name} to {line[line.last].name}"
        _foretold(asked, span, as_json=as_json)
        return
    found = [bisect(_case(asked, session, line), fresh=asked.options["fresh"])]
    decision = found[0].conclusion.decision
    if asked.options["deep"] and isinstance(decision, Culprit):
        parent, culprit = line[decision.first - 1], line[decision.last]
        say(f"from {parent.name} to {culprit.name}: into the commits")
        deeper = deep_line(sources, parent, culprit)
        found.append(bisect(_case(asked, session, deeper), fresh=asked.options["fresh"]))
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


def _foretold(asked: _Asked, span: str, *, as_json: bool) -> None:
    budget = asked.options["budget"]
    words = f"would bisect {span}: {asked.metric.name}, at most {budget}"
    facts = {"span": span, "metric": asked.metric.name, "budget": budget}
    foretell(words, metric=asked.metric, facts=facts, as_json=as_json)


def _command() -> str:
    """What was typed, as it can be typed again."""
    context = click.get_current_context()
    words = ["landspeed", "bisect"]
    for parameter in context.command.params:
        value = context.params.get(str(parameter.name))
        source = context.get_parameter_source(str(parameter.name))
        given = source in (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)
        if not given or parameter.name in ("fresh", "as_json"):
            continue
        if isinstance(parameter, click.Option):
            words.append(parameter.opts[0])
        words += [] if value is True else [str(value)]
    return shlex.join(words)


def _case(asked: _Asked, session: Session, line: CommitRange) -> BisectRequest:
    options, question = asked.options, asked.question
    return BisectRequest(
        session=session,
        line=line,
        variant=asked.good.variant,
        cell=asked.cell(session),
        metric=asked.metric,
        pgbench=Pgbench(build=session.pgbench_build()),
        seconds=question.seconds,
        quest=Hypothesis(
            last=line.last,
            size=asked.size,
            confidence=parse_share(options["confidence"]),
            is_exact=asked.is_exact,
        ),
        budget=parse_duration(options["budget"]),
        improvement=options["improvement"],
    )


def _unanswered(found: BisectResult) -> LandspeedError | None:
    """What a script must hear of: no answer, or an answer to another question."""
    match answer_of(found):
        case "reversed":
            better, worse = ("worse", "better") if found.case.improvement else ("better", "worse")
            hint = "Leave out --improvement" if found.case.improvement else "Add --improvement"
            return UsageError(
                f"BAD is {better} than GOOD, not {worse}",
                hint=f"{hint} to find the step; its runs are used again.",
            )
        case "undecided":
            return MeasureError(
                "undecided: the budget is spent",
                hint="Give the same command a larger --budget: it goes on from here.",
            )
        case "refuted" if found.case.quest.is_exact:
            return MeasureError(
                "the commit that was found does not differ from its parent",
                detail="By fresh counts the step is not there.",
                hint="What was counted before is of another state: bisect anew with --fresh.",
            )
        case "refuted":
            return MeasureError(
                "the commit that was found does not differ from its parent",
                detail="Side by side, on fresh runs, the step is not there.",
                hint="The machine may have drifted: bisect anew with --fresh when it is quiet.",
            )
    return None
