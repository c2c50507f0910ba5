"""``landspeed compare``: which of two or more servers is faster, and how sure that is."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import click

from base.build import Variant
from base.errors import UsageError
from benchmarks.workloads.metrics import METRICS, Metric, metric_named
from benchmarks.workloads.scenario import Mode, Protocol
from landspeed.cli.options.common import emit, emit_json, json_option, variant_options
from landspeed.cli.options.dry_run import dry_run_option, foretell
from landspeed.cli.options.memory import memory_option, require_limit
from landspeed.compare.plan import ComparePlan
from landspeed.compare.prepare import plan_comparison
from landspeed.compare.report import comparison_facts, comparison_markdown, comparison_text
from landspeed.compare.run import compare
from landspeed.compare.side import SCENARIO, SIDE, CompareScenario, Side, parse_scenario
from landspeed.console.format import counted
from landspeed.console.github_log import put_summary
from landspeed.console.params import parse_duration, parse_share
from landspeed.console.progress import say
from landspeed.console.table import as_text
from landspeed.session.session import Session


@click.command("compare", epilog=f"SIDE is {SIDE} or @NAME; a scenario is {SCENARIO}.")
@click.argument("sides", nargs=-1, required=True, metavar="SIDE SIDE...")
@variant_options
@click.option("--metric", type=click.Choice([m.name for m in METRICS]), default="latency")
@click.option("--scenario", metavar="SCENARIO", help="As landspeed show spells it.")
@click.option("--mode", type=click.Choice([m.value for m in Mode]), help="By default read-only.")
@click.option(
    "--protocol", type=click.Choice([p.value for p in Protocol]), help="By default prepared."
)
@click.option("--scale", metavar="TIER[=N]", help="small (the default), medium, large=5000.")
@click.option("--clients", type=click.IntRange(1), help="By default 1.")
@click.option("--profile", help="Of sides that name none: default, tuned.")
@click.option(
    "--seconds",
    type=click.IntRange(1),
    default=CompareScenario.seconds,
    show_default=True,
    metavar="N",
    help="Seconds of each run; many short runs tell more than few long ones.",
)
@click.option("--precision", default="1%", show_default=True, help="What is SAME.")
@click.option("--budget", default="30min", show_default=True, help="Time for all runs together.")
@click.option("--confidence", default="99.9%", show_default=True, help="Of all verdicts.")
@click.option("--narrow", is_flag=True, help="Go on until the interval is as narrow as SAME.")
@memory_option
@click.option("--aa", is_flag=True, help="Compare a server with a copy of itself.")
@click.option("--fresh", is_flag=True, help="Begin anew; what is recorded stays.")
@dry_run_option
@json_option
def compare_(
    *,
    sides: tuple[str, ...],
    variant: Variant,
    aa: bool,
    fresh: bool,
    dry_run: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Compare two or more servers: FASTER, SLOWER, SAME or UNDECIDED.

    The servers run in random order on freshly started clusters until every verdict is reached or
    the budget is spent. Each verdict compares one side with the first side; by default at most
    1 comparison in 1,000 gives a wrong verdict. After Ctrl-C the same command resumes.

    \b
    Examples:
      landspeed compare 17 18
      landspeed compare 18:bs2 18:bs4 18 --scenario read-write/prepared/small/c4 --budget 2h
      landspeed compare 18/default 18/tuned --clients 8 --metric tps --json
      landspeed compare 17 18 --metric instructions --mode read-write
      landspeed compare @debian15 15 --precision 2%
      landspeed compare 17 18 --scale large --memory 1g --clients 8
      landspeed compare 18 --aa --budget 5min
    """
    scenario = parse_scenario(
        options["scenario"],
        **{name: options[name] for name in ("mode", "protocol", "scale", "clients", "profile")},
        seconds=options["seconds"],
    )
    words = sides * 2 if aa and len(sides) == 1 else sides
    parsed = [Side.parse(word, variant, scenario.profile) for word in words]
    if len(parsed) < 2:
        raise UsageError(
            "nothing to compare it with",
            hint="Name two sides or more, or compare one with a copy of itself: --aa.",
        )
    metric = metric_named(options["metric"])
    precision, confidence = parse_share(options["precision"]), parse_share(options["confidence"])
    memory: int | None = options["memory"]
    require_limit(memory, counted=metric.exact)
    budget, session = parse_duration(options["budget"]), Session.open(memory=memory)
    if dry_run:
        _foretell(session, parsed, metric, as_json=as_json)
        return
    with ExitStack() as copies:
        plan = plan_comparison(
            session,
            parsed,
            scenario,
            metric=metric,
            budget=budget,
            precision=precision,
            confidence=confidence,
            narrow=options["narrow"],
            copies=copies if aa else None,
        )
        plan.require_different()
        say(_announced(plan))
        state = compare(session, plan, fresh=fresh)
    put_summary(comparison_markdown(plan, state))
    if as_json:
        emit_json(comparison_facts(plan, state))
    else:
        emit(as_text(comparison_text(plan, state)))


def _foretell(session: Session, sides: list[Side], metric: Metric, *, as_json: bool) -> None:
    for side in sides:
        session.named(side.target)
    words = f"would compare {' and '.join(map(str, sides))}: {metric.name}"
    foretell(words, metric=metric, facts={"metric": metric.name}, as_json=as_json)


def _announced(plan: ComparePlan) -> str:
    first, *others = plan.sides
    cell = first.cell
    scenario = f"{cell.scenario.mode} {cell.scenario.protocol} {cell.scenario.tier}"
    return (
        f"comparing {', '.join(other.label for other in others)} with {first.label}: {scenario} "
        f"at scale {cell.scenario.scale}, {counted(cell.clients, 'client')}, "
        + (f"{cell.buffers}, counted" if cell.buffers else f"runs of {plan.seconds} s")
    )
