"""``landspeed explain``: the functions in which two servers differ, and a flame graph."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import click

from base.build import Build, Variant
from base.errors import LandspeedError, MeasureError, NotApplicableError, UsageError
from benchmarks.clients.pgbench import Pgbench
from benchmarks.counted.callgrind import Profile
from benchmarks.counted.profiles import kept_profile
from benchmarks.machine.lock import measuring
from benchmarks.records.record import Record
from benchmarks.workloads.cell_name import CellName, cell_syntax
from benchmarks.workloads.custom_scripts import Script
from benchmarks.workloads.scenario import CacheState, Cell
from builders.source import Source
from landspeed.campaign.workloads import counter_of
from landspeed.cli.options.common import variant_options
from landspeed.cli.options.kinds import flag, number_option
from landspeed.cli.options.output import as_json, emit_either, json_option
from landspeed.compare.prepare import cell_of
from landspeed.compare.side import one_of, parse_scenario
from landspeed.console.progress import say
from landspeed.profiling.diff import (
    ExplainResult,
    costs,
    explained_text,
    incomparable,
    miss_changes,
    whole_functions,
)
from landspeed.profiling.flamegraph import ROOT, draw, frames
from landspeed.sampling.counted import count_key, recorded_counts
from landspeed.session.session import Session
from landspeed.session.target import Target, parse_targets

SCENARIO = cell_syntax()
_DIRECTORY = "explain"


@dataclass(frozen=True, kw_only=True)
class Counted:
    """The counts of one server in one cell: its record and its profile."""

    build: Build
    record: Record
    profile: Profile


@click.command("explain", epilog=f"SCENARIO is {SCENARIO}, as landspeed show spells it.")
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@variant_options
@click.option("--scenario", default="read-only", show_default=True, help="Scenario to count.")
@flag(
    "--cache",
    "Also simulate a cache of 32 kB and 1 MB, and list the functions with more or fewer misses.",
)
@number_option("--top", "Number of functions to list.", default=25)
@click.option(
    "--svg",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File for the flame graph; by default in results/explain/.",
)
@json_option
def explain_(
    *,
    before: str,
    after: str,
    variant: Variant,
    scenario: str,
    cache: bool,
    top: int,
    svg: Path | None,
) -> None:
    """Show which functions execute more or fewer instructions in B than in A.

    The instructions are those of one transaction. Counts that are recorded already are used
    again. Also draws a differential flame graph, and lists the files that differ if both A and B
    are commits.

    \b
    Examples:
      landspeed explain 17 18
      landspeed explain 13 18 --scenario read-write/prepared/small/c1/default/cold
      landspeed explain 17 18 --scenario sort-text --cache
      landspeed explain master~1 master --scenario read-only --top 10 --json
    """
    targets = parse_targets([before, after], variant)
    if len(targets) != 2:
        raise UsageError(f'"{before}" and "{after}" are the same', hint="Name two servers.")
    session = Session(only_counts=True)
    cell = counted_cell(scenario, session)
    is_script = isinstance(cell.scenario.mode, Script)
    pgbench = Pgbench(build=session.pgbench_build(with_server=is_script))
    sides = [_counted(session, pgbench, target, cell, cache=cache) for target in targets]
    explained = _explained(sides[0], sides[1], cell, _files(targets, session))
    profiles = [whole_functions(side.profile) for side in sides]
    names = "-".join(f"{side.build.label}".replace(" ", "-") for side in sides)
    name = f"{names}-{explained.cell}.svg".replace("/", "-")
    path = svg or session.paths.results / _DIRECTORY / name
    legend = "Red is more, blue is less; the width of a frame is the mean of both"
    # The startup process, which replays WAL, has no session for the picture to begin with.
    graph = frames(profiles[0], profiles[1])
    drawn = str(path) if graph.width else None
    if drawn:
        draw(graph, path, f"{explained.headline}. {legend}")
    emit_either(explained_text(explained, top), explained.facts(top) | {"svg": drawn})
    if not as_json():
        say(f"flame graph: {drawn or f'none, because no {ROOT} was counted'}")


def counted_cell(scenario: str, session: Session) -> Cell:
    """Return the counted cell that *scenario* spells; UsageError if it spells none."""
    named = CellName.parse(scenario)
    cache = one_of("state of the buffers", CacheState, named.cache_state or CacheState.WARM)
    return cell_of(session, parse_scenario(str(replace(named, cache_state=None))), cache)


def _counted(
    session: Session, pgbench: Pgbench, target: Target, cell: Cell, *, cache: bool
) -> Counted:
    """Return the recorded count of *cell*, with misses if *cache*, or count it now."""
    named = session.named(target)
    if not cell.scenario.runs_on(named.version):
        raise NotApplicableError(f"{target} does not have {cell.scenario.mode}")
    build = named if isinstance(named, Build) else session.build(named, target.variant)
    known = recorded_counts(session, pgbench.version).get(count_key(session, build, cell))
    profile = kept_profile(session.paths, known.record) if known else None
    if known and profile and (profile.misses or not cache):
        return Counted(build=build, record=session.records.get(known.record), profile=profile)
    say(f"counting {cell.scenario.mode.value} on {build.label}")
    counter = counter_of(session, build, pgbench, "explain")
    with session.builder.store.in_use([build]), measuring(counting=True):
        for record in replace(counter, at_once=session.machine.cores, cache=cache).count([cell]):
            if isinstance(record, LandspeedError):
                raise record
            session.records.add(record)
            session.records.seal()
            profile = kept_profile(session.paths, record.id)
            if profile is None:
                raise AssertionError("a profile is kept with every record")
            return Counted(build=build, record=record, profile=profile)
    raise MeasureError("counting was interrupted")


def _explained(
    before: Counted, after: Counted, cell: Cell, files: tuple[str, ...] | None
) -> ExplainResult:
    facts, reasons = cell.facts(1), incomparable(before.record, after.record)
    name = "/".join(str(facts[key]) for key in ("mode", "protocol", "tier", "profile", "buffers"))
    return ExplainResult(
        before=before.build.label,
        after=after.build.label,
        cell=name,
        total_before=before.record.sample.instructions or 0.0,
        total_after=after.record.sample.instructions or 0.0,
        costs=costs(before.profile, after.profile),
        files=files,
        notes=tuple(f"not comparable: {reason}" for reason in reasons),
        misses=miss_changes(before.profile, after.profile),
    )


def _files(targets: list[Target], session: Session) -> tuple[str, ...] | None:
    """Return the files that differ between two commits; None for releases, which differ in most."""
    before, after = (session.named(target) for target in targets)
    if not isinstance(before, Source) or not isinstance(after, Source):
        return None
    if before.origin.release is not None or after.origin.release is not None:
        return None
    changes = session.builder.sources.changes(before.origin.tree, after)
    return None if changes is None else tuple(change.path for change in changes)
