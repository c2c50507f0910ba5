"""Compare by timed runs: fresh blocks until the comparison is settled or the budget is spent.

Every run is a record that names its comparison, block and side. Whoever asks for the same
comparison again goes on where the last one stopped, or gets the answer from the records.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter
from dataclasses import replace

import pyarrow.compute as pc

from base.errors import LandspeedError, MeasureError, UsageError
from base.files import digest_text
from benchmarks.machine.lock import measuring
from benchmarks.measure import prepare, templates
from benchmarks.observation.warnings import RunFindings
from benchmarks.records.store import RecordStore
from benchmarks.workloads.scenario import CacheState
from landspeed.compare.plan import ComparePlan, CompareState
from landspeed.compare.report import time_left
from landspeed.compare.verdict import Comparison, block_order, whole_blocks
from landspeed.console.format import change, counted
from landspeed.console.progress import Meter, duration, meter, say
from landspeed.results.warnings import RunWarning, count_warnings
from landspeed.sampling.counted import count_key, recorded_counts
from landspeed.sampling.sampler import Sampler, give_back_storages
from landspeed.session.session import Session

_TRIES = 2
# Blocks after which what a verdict takes is estimated well enough to speak of it.
_FORESEEN = 4
_clock = time.monotonic


def recorded_state(session: Session, plan: ComparePlan, *, fresh: bool = False) -> CompareState:
    """Return how far *plan* has come by its records; with *fresh* the state of a new comparison."""
    records, machine = session.records, session.machine
    place = digest_text(f"{machine.name} {machine.epoch.identifier}")[:6]
    stem = f"{plan.key}-{place}-"
    table = records.table(
        ["id", "comparison", "block", "side", "machine", "epoch", plan.metric.column]
    )
    mine = pc.starts_with(table["comparison"].cast("string"), plan.key)
    rows = table.filter(pc.fill_null(mine, False)).to_pylist()
    # There may be several: begun again with --fresh, or merged from another store.
    ours = [(row["id"], row["comparison"]) for row in rows if row["comparison"].startswith(stem)]
    identifier = f"{stem}{secrets.token_hex(3)}" if fresh or not ours else max(ours)[1]
    here = [row for row in rows if row["comparison"] == identifier]
    blocks = whole_blocks(here, plan.metric.column, plan.ranks)
    return CompareState(
        identifier=identifier,
        comparison=Comparison(rule=plan.rule, sides=len(plan.sides), blocks=blocks),
        spent=float(sum(one.run.spent for one in records.records([row["id"] for row in here]))),
        attempted=max((row["block"] for row in here), default=0),
        recorded=len(blocks),
        elsewhere=Counter(
            "this machine before its kernel or processor changed"
            if row["machine"] == machine.name
            else f"machine {row['machine']}"
            for row in rows
            if not row["comparison"].startswith(stem)
        ),
    )


def compare_timed(session: Session, plan: ComparePlan, *, fresh: bool = False) -> CompareState:
    """Carry out *plan*: use what is recorded, then measure fresh blocks while they are wanted.

    Storage that the sides took from the machine is given back. UsageError if the budget has no
    room for the first block; MeasureError if two blocks in a row fail.
    """
    state = recorded_state(session, plan, fresh=fresh)
    for where, runs in state.elsewhere.items():
        say(f"not used: {counted(runs, 'run')} of the same comparison, measured on {where}")
    if state.recorded:
        say(
            f"comparison {state.identifier}: {counted(state.recorded, 'block')} recorded already, "
            f"measured in {duration(state.spent)}"
        )
    try:
        _measure(session, plan, state)
    finally:
        session.records.seal()
        give_back_storages(session, (one.cell.profile for one in plan.sides))
    state.warnings = _warnings(session.records, plan, state)
    return state


def _warnings(records: RecordStore, plan: ComparePlan, state: CompareState) -> list[RunWarning]:
    """Return the warnings of all runs of the comparison, counted by side."""
    table = records.table(["id", "comparison", "side"])
    mine = pc.equal(table["comparison"].cast("string"), state.identifier)
    rows = table.filter(pc.fill_null(mine, False)).to_pylist()
    labels = {row["id"]: plan.sides[plan.ranks.index(row["side"])].label for row in rows}
    groups: dict[str, list[RunFindings]] = {one.label: [] for one in plan.sides}
    for record in records.records(list(labels)):
        groups[labels[record.id]].append(RunFindings.of(record))
    return count_warnings(groups)


def _measure(session: Session, plan: ComparePlan, state: CompareState) -> None:
    each = state.block_seconds or plan.block_estimate
    if not state.attempted and plan.budget < each:
        raise UsageError(
            f"a budget of {duration(plan.budget)} is too small for a single block",
            detail=f"A block ({counted(len(plan.sides), 'run')}) takes about {duration(each)}, "
            "and nothing of this comparison is recorded.",
            hint="Give it more time, such as --budget 30min, or shorter runs with --seconds.",
        )
    if not _is_wanted(plan, state):
        return
    builds = [plan.pgbench.build, *(side.build for side in plan.sides)]
    with session.builder.store.in_use(builds), measuring():
        for side in plan.sides:
            store = templates(session.paths, plan.pgbench, cell=side.cell)
            prepare(build=side.build, scale=side.cell.scenario.scale, store=store)
        _take_blocks(session, plan, state)


def _is_wanted(plan: ComparePlan, state: CompareState) -> bool:
    each = state.block_seconds or plan.block_estimate
    return not state.comparison.is_settled and state.spent + each <= plan.budget


def _take_blocks(session: Session, plan: ComparePlan, state: CompareState) -> None:
    failures = 0
    with meter("comparing") as shown:
        while _is_wanted(plan, state):
            _show(plan, state, shown)
            state.attempted += 1
            began = _clock()
            try:
                values = _block(session, plan, state)
            except LandspeedError as error:
                failures += 1
                if failures == _TRIES:
                    raise
                say(str(error))
                continue
            finally:
                state.spent += _clock() - began
            failures = 0
            state.comparison = state.comparison.with_block(values)
            if len(state.comparison.blocks) == _FORESEEN:
                _foresee(session, plan, state)


def _foresee(session: Session, plan: ComparePlan, state: CompareState) -> None:
    """Say so if the budget will not do, with what the counts say."""
    left = state.seconds_left
    if state.comparison.is_settled or left is None:
        return
    if state.spent + left > plan.budget:
        say(f"the budget of {duration(plan.budget)} will hardly do: {time_left(state)}")
        say(_counted_answer(session, plan))


def _counted_answer(session: Session, plan: ComparePlan) -> str:
    """Return the ratios of recorded instructions, or how to count them."""
    try:
        keys = [
            count_key(session, one.build, replace(one.cell, clients=1, buffers=CacheState.WARM))
            for one in plan.sides
        ]
    except MeasureError:
        return "Instructions cannot be counted here."
    known = recorded_counts(session, plan.pgbench.version)
    found = [known[key].instructions for key in keys if key in known]
    if len(found) < len(plan.sides):
        return "--metric instructions gives a verdict within minutes, on the work of the processor."
    pairs = zip(plan.sides[1:], found[1:], strict=True)
    shown = ", ".join(f"{side.label} {change(one / found[0])}" for side, one in pairs)
    return f"Counted, one client, against {plan.sides[0].label}: {shown} instructions."


def _block(session: Session, plan: ComparePlan, state: CompareState) -> list[float]:
    """Measure one run of every side in random order; return the values in the plan's order."""
    ranks = plan.ranks
    values: dict[int, float] = {}
    for rank, seed in block_order(state.identifier, state.attempted, len(ranks)):
        side = plan.sides[ranks.index(rank)]
        sampler = Sampler(
            session=session,
            pgbench=plan.pgbench,
            cell=side.cell,
            metric=plan.metric,
            seconds=plan.seconds,
        )
        block = {"comparison": state.identifier, "block": state.attempted, "side": rank}
        context = {"preset": plan.preset, **block}
        values[rank] = sampler.sample(side.build, context=context, seed=seed)
    return [values[rank] for rank in ranks]


def _show(plan: ComparePlan, state: CompareState, shown: Meter) -> None:
    comparison, each = state.comparison, state.block_seconds or plan.block_estimate
    left = plan.budget - state.spent
    if comparison.blocks_left is not None:
        left = min(left, comparison.blocks_left * each)
    runs = counted(len(comparison.blocks) * comparison.sides, "run")
    found = "; ".join(str(finding) for finding in comparison.findings)
    shown.update(state.spent / (state.spent + max(left, 1e-9)), f"{runs}, {found}", left=left)
