"""Carrying out a Comparison: blocks of fresh Runs until it is settled or the budget is spent.

Every Run is a record that names its comparison, block and side, so whoever asks the same
question again goes on where the last one stopped, or gets the answer from the records.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pyarrow.compute as pc

from base.build import Build
from base.errors import LandspeedError, UsageError
from base.files import canonical_json, digest_text
from benchmarks.clients.pgbench import Pgbench
from benchmarks.machine.lock import measuring
from benchmarks.machine.machine import Machine
from benchmarks.measure import prepare, templates
from benchmarks.observation.warnings import Record
from benchmarks.records.store import RecordStore
from benchmarks.server.configuration import Configuration
from benchmarks.server.storage import give_back
from benchmarks.workloads.metrics import Metric
from benchmarks.workloads.scenario import Cell
from landspeed.compare.verdict import Comparison, StoppingRule, block_order, whole_blocks
from landspeed.console.progress import Meter, duration, meter, say
from landspeed.results.warnings import WarningCount, cautions, slim
from landspeed.sampling.rounds import OVERHEAD_SECONDS
from landspeed.sampling.sampler import Sampler
from landspeed.session.session import Session

_TRIES = 2
_clock = time.monotonic


@dataclass(frozen=True, kw_only=True)
class CompareSide:
    """A CompareSide is a Side that is built: a Build in the Cell asked for, and its name.

    ``original`` is the digest of the server that it is, also where its Build is a double.
    """

    label: str
    build: Build
    original: str
    cell: Cell

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from others: the installed files and the profile."""
        return self.build.digest, self.cell.profile


@dataclass(frozen=True, kw_only=True)
class ComparePlan:
    """A ComparePlan is what is to be compared, and how: everything but the outcome.

    ``preset`` is what its records are called, ``budget`` are the seconds that all of its Runs
    may take together, those of earlier sessions included.
    """

    contenders: tuple[CompareSide, ...]
    pgbench: Pgbench
    metric: Metric
    goal: StoppingRule
    seconds: int
    budget: float
    preset: str = "compare"

    @property
    def question(self) -> str:
        """What is asked, in 12 hex digits: the sides in whatever order, the cell, the client.

        Not the metric, and not when to stop: all of them are answered from the same Runs.
        """
        cell = self.contenders[0].cell.facts(cores=1)
        del cell["profile"]
        facts = {
            "sides": sorted(contender.key for contender in self.contenders),
            "cell": cell,
            "seconds": self.seconds,
            "pgbench": self.pgbench.version,
            "preset": self.preset,
        }
        return digest_text(canonical_json(facts))[:12]

    @property
    def ranks(self) -> tuple[int, ...]:
        """The number of each CompareSide in the records, where the order is not that asked for."""
        keys = sorted(contender.key for contender in self.contenders)
        return tuple(keys.index(contender.key) for contender in self.contenders)

    @property
    def guess(self) -> float:
        """About how many seconds a block takes, before one was seen."""
        return len(self.contenders) * (self.seconds + OVERHEAD_SECONDS)


@dataclass(kw_only=True)
class CompareState:
    """A Course is how far a ComparePlan has come: blocks, and what they took.

    ``elsewhere`` counts the Runs of the same question that other machines, or this one in an
    earlier epoch, have recorded: they are not used. ``cautions`` are what its Runs are to be
    read with.
    """

    identifier: str
    comparison: Comparison
    spent: float = 0.0
    attempted: int = 0
    before: int = 0
    elsewhere: Counter[str] = field(default_factory=Counter)
    cautions: Sequence[WarningCount] = ()

    @property
    def each(self) -> float | None:
        """The seconds of a block so far; None before the first."""
        return self.spent / len(self.comparison.blocks) if self.comparison.blocks else None


def recorded(
    contest: ComparePlan, records: RecordStore, machine: Machine, *, fresh: bool = False
) -> CompareState:
    """Where *contest* stands by its records; with *fresh* at its beginning, as a new one."""
    place = digest_text(f"{machine.name} {machine.epoch.identifier}")[:6]
    stem = f"{contest.question}-{place}-"
    table = records.table(
        ["id", "comparison", "block", "side", "machine", "epoch", contest.metric.column]
    )
    mine = pc.starts_with(table["comparison"].cast("string"), contest.question)
    rows = table.filter(pc.fill_null(mine, False)).to_pylist()
    # the newest, should there be several: begun anew, or merged from another store
    newest = max((row for row in rows if row["comparison"].startswith(stem)), key=_id, default=None)
    if newest is None or fresh:
        identifier = f"{stem}{secrets.token_hex(3)}"
    else:
        identifier = newest["comparison"]
    here = [row for row in rows if row["comparison"] == identifier]
    blocks = whole_blocks(here, contest.metric.column, contest.ranks)
    return CompareState(
        identifier=identifier,
        comparison=Comparison(
            goal=contest.goal,
            sides=len(contest.contenders),
            blocks=blocks,
        ),
        spent=sum(_seconds(one) for one in records.records([row["id"] for row in here])),
        attempted=max((row["block"] for row in here), default=0),
        before=len(blocks),
        elsewhere=Counter(
            "this machine before its kernel or processor changed"
            if row["machine"] == machine.name
            else f"machine {row['machine']}"
            for row in rows
            if not row["comparison"].startswith(stem)
        ),
    )


def _id(row: Mapping[str, Any]) -> str:
    return str(row["id"])


def _seconds(record: dict[str, Any]) -> float:
    return float(sum(record["run"]["phases"].values()))


def compare(session: Session, contest: ComparePlan, *, fresh: bool = False) -> CompareState:
    """Carry *contest* out: what is recorded first, then fresh blocks while they are wanted.

    UsageError if the budget has no room for the first block; MeasureError if the servers of
    two blocks in a row fail. What the Storages of its sides take of the machine is given back.
    """
    course = recorded(contest, session.records, session.machine, fresh=fresh)
    _introduce(course)
    try:
        _carry_on(session, contest, course)
    finally:
        session.records.seal()
        storages = {Configuration.named(one.cell.profile).storage for one in contest.contenders}
        give_back(storages, session.paths.server_root)
    course.cautions = _cautions(session.records, contest, course)
    return course


def _cautions(
    records: RecordStore, contest: ComparePlan, course: CompareState
) -> list[WarningCount]:
    """What all Runs of the comparison are to be read with, side by side."""
    table = records.table(["id", "comparison", "side"])
    mine = pc.equal(table["comparison"].cast("string"), course.identifier)
    rows = table.filter(pc.fill_null(mine, False)).to_pylist()
    labels = {row["id"]: contest.contenders[contest.ranks.index(row["side"])].label for row in rows}
    groups: dict[str, list[Record]] = {one.label: [] for one in contest.contenders}
    for record in records.records(list(labels)):
        groups[labels[record["id"]]].append(slim(record))
    return cautions(groups)


def _carry_on(session: Session, contest: ComparePlan, course: CompareState) -> None:
    each = course.each or contest.guess
    if not course.attempted and contest.budget < each:
        raise UsageError(
            f"a budget of {duration(contest.budget)} measures nothing",
            detail=f"Nothing of this comparison is recorded, and a block of it "
            f"({len(contest.contenders)} runs) takes about {duration(each)}.",
            hint="Give it more time, such as --budget 30min, or shorter runs with --seconds.",
        )
    if not _is_wanted(contest, course):
        return
    with ExitStack() as held:
        builds = [contender.build for contender in contest.contenders]
        held.enter_context(session.builder.store.in_use([contest.pgbench.build, *builds]))
        held.enter_context(measuring())
        _load(session, contest)
        _take_blocks(session, contest, course)


def _introduce(course: CompareState) -> None:
    for where, runs in course.elsewhere.items():
        say(f"not used: {runs} runs of the same comparison, measured on {where}")
    if course.before:
        say(
            f"comparison {course.identifier}: {course.before} blocks recorded already, "
            f"they took {duration(course.spent)}"
        )


def _is_wanted(contest: ComparePlan, course: CompareState) -> bool:
    each = course.each or contest.guess
    return not course.comparison.is_settled and course.spent + each <= contest.budget


def _load(session: Session, contest: ComparePlan) -> None:
    for contender in contest.contenders:
        store = templates(session.paths, contest.pgbench, say, cell=contender.cell)
        prepare(build=contender.build, scale=contender.cell.scenario.scale, store=store)


def _take_blocks(session: Session, contest: ComparePlan, course: CompareState) -> None:
    failures = 0
    with meter("comparing") as shown:
        while _is_wanted(contest, course):
            _show(contest, course, shown)
            course.attempted += 1
            began = _clock()
            try:
                values = _block(session, contest, course)
            except LandspeedError as error:
                failures += 1
                if failures == _TRIES:
                    raise
                say(str(error))
                continue
            finally:
                course.spent += _clock() - began
            failures = 0
            course.comparison = course.comparison.with_block(values)


def _block(session: Session, contest: ComparePlan, course: CompareState) -> list[float]:
    """One block: a Run of every CompareSide, in the order of the lot; the values as asked for."""
    ranks = contest.ranks
    values: dict[int, float] = {}
    for rank, seed in block_order(course.identifier, course.attempted, len(ranks)):
        contender = contest.contenders[ranks.index(rank)]
        sampler = Sampler(
            session=session,
            pgbench=contest.pgbench,
            cell=contender.cell,
            metric=contest.metric,
            seconds=contest.seconds,
        )
        context = {
            "preset": contest.preset,
            "comparison": course.identifier,
            "block": course.attempted,
            "side": rank,
        }
        values[rank] = sampler.sample(contender.build, context=context, seed=seed)
    return [values[rank] for rank in ranks]


def _show(contest: ComparePlan, course: CompareState, shown: Meter) -> None:
    comparison, each = course.comparison, course.each or contest.guess
    left = contest.budget - course.spent
    if comparison.further is not None:
        left = min(left, comparison.further * each)
    runs = len(comparison.blocks) * comparison.sides
    standing = "; ".join(str(finding) for finding in comparison.findings)
    shown.update(
        course.spent / (course.spent + max(left, 1e-9)),
        f"{runs} runs, {standing}",
        left=left,
    )
