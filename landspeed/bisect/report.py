"""The report of a bisection as a type: written as JSON, and validated when it is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from pydantic import FiniteFloat, ValidationError

from base.errors import RecordError
from base.typed import from_json
from landspeed.bisect.commit_range import Candidate, RangeKind
from landspeed.bisect.journal import Number, Verification
from landspeed.console.format import counted
from landspeed.console.markdown import code

Report = TypeVar("Report")
Answer = Literal["culprit", "range", "no culprit", "reversed", "undecided", "refuted"]
"""*range*: one of several candidates, of which those between cannot be built; *refuted*: the
culprit did not differ from its parent when they were compared."""


def validated(kind: type[Report], facts: Any) -> Report:
    """Return the report that *facts* (parsed JSON) hold; RecordError if they hold none."""
    try:
        return from_json(kind, facts)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise RecordError(
            "this is not the report of a bisection",
            detail=f"{place}: {first['msg']}" if place else first["msg"],
            hint='Write one with "landspeed bisect --json".',
        ) from error


@dataclass(frozen=True, kw_only=True)
class CandidateSpan:
    """Consecutive candidates by name, from ``first`` to ``last``; ``after`` is the one before.

    ``candidates`` has all of them unless they are many.
    """

    after: str
    first: str
    last: str
    count: int
    candidates: tuple[Candidate, ...] | None


@dataclass(frozen=True, kw_only=True)
class ReportedCulprit(Candidate):
    """The culprit, or the last of several that cannot be told apart (``steps``).

    Releases have no author and no ``diffstat`` (the text of ``git diff --stat`` to the parent).
    ``authored`` is a time as ISO 8601 has it.
    """

    parent: Candidate
    steps: CandidateSpan
    author: str | None = None
    email: str | None = None
    authored: str | None = None
    diffstat: str | None = None


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """The runs of one candidate, in the metric's unit; ``change`` is the share against GOOD."""

    position: int
    name: str
    date: str
    subject: str
    runs: int
    median: Number
    change: float | None
    least: float
    most: float


@dataclass(frozen=True, kw_only=True)
class SkippedCandidate:
    """A candidate that could not be built or measured."""

    position: int
    name: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class ReportedCell:
    """What was run, with the names that records have; ``buffers`` is None for timed runs."""

    mode: str
    protocol: str
    tier: str
    scale: int
    clients: int
    threads: int | None = None
    profile: str
    buffers: str | None = None


@dataclass(frozen=True, kw_only=True)
class ReportedMachine:
    """The machine that measured."""

    name: str
    cpu: str
    cores: int


@dataclass(frozen=True, kw_only=True)
class SmallerSize:
    """A size (a share) that would find the change between the ends, and about how many seconds."""

    size: float
    seconds: FiniteFloat


@dataclass(frozen=True, kw_only=True)
class BisectReport:
    """All that is known at the end of a bisection.

    ``size``, ``change`` and ``confidence`` are shares; ``confidence`` is None without an answer.
    ``exact`` says that the metric is counted. ``seconds`` is the length of one run.
    ``candidates`` is the number of steps. ``left`` are the candidates that remain likely and
    ``others`` those at which the level changes beside the culprit. ``explanation`` is Markdown
    that says in which functions the cost changed. ``recorded`` is the number of runs that were
    used from the results. ``smaller`` is given if the ends differ by less than ``size``.
    ``state`` is the file name of the journal, ``command`` what a person typed.
    """

    answer: Answer
    confidence: float | None
    exact: bool
    over: RangeKind
    metric: str
    unit: str
    higher_is_better: bool
    improvement: bool
    size: float
    good: Candidate
    bad: Candidate
    candidates: int
    variant: str
    cell: ReportedCell
    seconds: int
    machine: ReportedMachine
    epoch: str
    pgbench: str
    culprit: ReportedCulprit | None
    left: CandidateSpan
    change: float
    verification: Verification | None
    explanation: str | None
    others: tuple[CandidateSpan, ...]
    measurements: tuple[Measurement, ...]
    skipped: tuple[SkippedCandidate, ...]
    runs: int
    builds: int
    recorded: int
    spent_seconds: FiniteFloat
    smaller: SmallerSize | None = None
    state: str
    command: str

    @property
    def title(self) -> str:
        """What was bisected and the answer, on one line of Markdown."""
        return f"{self.metric} from {self.good.name} to {self.bad.name}: {self._headline}"

    @property
    def _headline(self) -> str:
        match self.answer, self.culprit:
            case "culprit", ReportedCulprit() as culprit:
                return f"{culprit.name} {code(culprit.subject)}"
            case "range", ReportedCulprit(steps=steps):
                return (
                    f"one of {counted(steps.count, self.over.noun)}, {steps.first} to {steps.last}"
                )
            case "reversed", _:
                return f"BAD is {'worse' if self.improvement else 'better'} than GOOD"
            case "refuted", _:
                return "undecided, the culprit was refuted"
            case _:
                return self.answer

    @property
    def identity(self) -> str:
        """What identifies the bisection, however often it is begun again with --fresh."""
        return self.state.rpartition("-")[0]

    @property
    def ends(self) -> tuple[Measurement, Measurement] | None:
        """The measurements of GOOD and of BAD; None if one is missing."""
        by_position = {one.position: one for one in self.measurements}
        good, bad = by_position.get(0), by_position.get(self.candidates)
        return None if good is None or bad is None else (good, bad)
