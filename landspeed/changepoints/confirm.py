"""Test changepoints on fresh samples; what the samples said is kept as notes beside the records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Self

from base.build import Origin
from base.errors import LandspeedError, UsageError, some_failed
from benchmarks.workloads.metrics import metric_named
from landspeed.changepoints.changepoint import Changepoint, ChangepointStatus
from landspeed.compare.plan import ComparePlan
from landspeed.compare.prepare import plan_comparison
from landspeed.compare.run import compare
from landspeed.compare.side import CompareScenario, Side, parse_scenario
from landspeed.compare.verdict import Finding, StoppingRule, Verdict
from landspeed.console.progress import say
from landspeed.session.session import Session
from landspeed.session.target import Target

DECIDED = (ChangepointStatus.CONFIRMED, ChangepointStatus.REFUTED)
"""The statuses that need no further samples."""


@dataclass(frozen=True, kw_only=True)
class Confirmation:
    """Result of measuring both sides of a changepoint again.

    ``comparison`` names the runs, ``finding`` is Finding.facts(). Both are None where no run was
    needed; ``reason`` then says why. ``time`` is ISO 8601.
    """

    changepoint: Changepoint
    status: ChangepointStatus
    time: str
    comparison: str | None = None
    finding: Mapping[str, Any] | None = None
    reason: str = ""

    def facts(self) -> dict[str, Any]:
        """Return the note that is kept."""
        return {
            "nomination": self.changepoint.note(),
            "fate": self.status.value,
            "time": self.time,
            "comparison": self.comparison,
            "finding": dict(self.finding) if self.finding else None,
            "reason": self.reason,
        }

    @classmethod
    def parse(cls, facts: Mapping[str, Any]) -> Self:
        """Return the confirmation that a note holds."""
        return cls(
            changepoint=Changepoint.parse(facts["nomination"]),
            status=ChangepointStatus(facts["fate"]),
            time=facts["time"],
            comparison=facts["comparison"],
            finding=facts["finding"],
            reason=facts["reason"],
        )


def status_of(changepoint: Changepoint, finding: Finding) -> ChangepointStatus:
    """Return what the comparison of both sides says of *changepoint*.

    A proven change in the other direction refutes it, too.
    """
    match finding.verdict:
        case Verdict.UNDECIDED:
            return ChangepointStatus.UNDECIDED
        case Verdict.SAME:
            return ChangepointStatus.REFUTED
        case Verdict.FASTER | Verdict.SLOWER:
            same_way = finding.ratio is not None and (finding.ratio > 1) == (changepoint.ratio > 1)
            return ChangepointStatus.CONFIRMED if same_way else ChangepointStatus.REFUTED


def newest(notes: Iterable[Mapping[str, Any]]) -> dict[str, Confirmation]:
    """Return the newest confirmation in *notes* of each changepoint, by its key."""
    found = sorted(map(Confirmation.parse, notes), key=lambda one: one.time)
    return {one.changepoint.key: one for one in found}


def decided(notes: Iterable[Mapping[str, Any]]) -> dict[str, ChangepointStatus]:
    """Return the status of each changepoint that the newest of *notes* decides, by its key."""
    known = newest(notes).items()
    return {key: one.status for key, one in known if one.status in DECIDED}


def status_counts(confirmations: Iterable[Confirmation]) -> dict[str, int]:
    """Return how many of *confirmations* have each status that fresh samples can give."""
    counts = Counter(one.status for one in confirmations)
    return {status.value: counts[status] for status in (*DECIDED, ChangepointStatus.UNDECIDED)}


def status_counts_text(confirmations: Iterable[Confirmation]) -> str:
    """Return the counts of *confirmations* by status as one line."""
    counts = status_counts(confirmations)
    return "changepoints tested so far: " + ", ".join(f"{n} {name}" for name, n in counts.items())


PRESET = "confirm"


@dataclass(kw_only=True)
class ConfirmRun:
    """Tests changepoints one after the other and goes on after failures, kept in ``errors``.

    Each gets a ``budget``, in seconds, for runs of ``seconds`` each. With ``fresh``, changepoints
    that were confirmed or refuted before are measured again.
    """

    session: Session
    budget: float
    seconds: int = CompareScenario.seconds
    fresh: bool = False
    errors: list[LandspeedError] = field(default_factory=list)

    def of(self, changepoints: Iterable[Changepoint]) -> list[Confirmation]:
        """Return what is now known of each of *changepoints*; add what is new to the notes.

        A changepoint of another machine stays nominated: it must be shown where it was seen.
        """
        notes = self.session.records.confirmations
        known = newest(notes.all())
        found = []
        for key, changepoint in {one.key: one for one in changepoints}.items():
            before = known.get(key)
            if before is not None and before.status in DECIDED and not self.fresh:
                found.append(before)
                continue
            try:
                confirmation = self._one(changepoint)
            except LandspeedError as error:
                self.errors.append(error)
                say(f"{changepoint}\n{error}")
                continue
            if confirmation.status is not ChangepointStatus.NOMINATED:
                notes.add(confirmation.facts())
            found.append(confirmation)
        return found

    def failure(self, tested: int, more: Iterable[LandspeedError] = ()) -> LandspeedError | None:
        """Return the error that the command ends with, if any, after *tested* confirmations."""
        messages = [error.message for error in (*self.errors, *more)]
        return some_failed(messages, tested + len(messages), "tests of changepoints")

    def _one(self, changepoint: Changepoint) -> Confirmation:
        say(f"nominated: {changepoint}")
        if changepoint.machine != self.session.machine.name:
            reason = f"it is of machine {changepoint.machine}"
            return _without_runs(changepoint, ChangepointStatus.NOMINATED, reason)
        plan = self._plan(changepoint)
        first, second = plan.sides
        if first.key == second.key:
            reason = "both are the very same server"
            return _without_runs(changepoint, ChangepointStatus.REFUTED, reason)
        state = compare(self.session, plan, fresh=self.fresh)
        (finding,) = state.comparison.findings
        return Confirmation(
            changepoint=changepoint,
            status=status_of(changepoint, finding),
            time=_now(),
            comparison=state.identifier,
            finding=finding.facts(),
        )

    def _plan(self, changepoint: Changepoint) -> ComparePlan:
        params = changepoint.params
        scenario = parse_scenario(
            str(replace(changepoint.cell, configuration=None)), seconds=self.seconds
        )
        sides = [
            Side(
                target=Target(ref=_ref(origin), variant=changepoint.variant),
                profile=params.profile,
            )
            for origin in (changepoint.before, changepoint.after)
        ]
        return plan_comparison(
            self.session,
            sides,
            scenario,
            metric=metric_named(changepoint.metric),
            budget=self.budget,
            preset=PRESET,
            rule=StoppingRule(precision=changepoint.precision),
        )


def _ref(origin: Origin) -> str:
    ref = f"@{origin.registered}" if origin.registered else origin.release or origin.commit
    if not ref:
        raise UsageError(
            f"{origin.name} cannot be built again: it is neither a release nor a commit"
        )
    return ref


def _without_runs(changepoint: Changepoint, status: ChangepointStatus, reason: str) -> Confirmation:
    return Confirmation(changepoint=changepoint, status=status, time=_now(), reason=reason)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def confirmations_facts(found: Iterable[Confirmation]) -> list[dict[str, Any]]:
    """Return *found* as JSON can hold it, each with the key of its changepoint."""
    return [{"key": one.changepoint.key, **one.facts()} for one in found]
