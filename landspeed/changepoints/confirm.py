"""Putting what a trend nominates to the test: its two sides compared on fresh samples."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from base.build import Origin
from base.errors import LandspeedError, MeasureError, UsageError
from benchmarks.clients.pgbench import Pgbench
from benchmarks.workloads.metrics import Metric, metric_named
from landspeed.changepoints.nomination import (
    Confirmation,
    ConfirmationStatus,
    Nomination,
    fate_of,
    newest,
)
from landspeed.compare.counted import compare_counts
from landspeed.compare.prepare import contenders_of
from landspeed.compare.side import Question, Side, parse_question
from landspeed.compare.timed import ComparePlan, compare
from landspeed.compare.verdict import StoppingRule
from landspeed.console.progress import say
from landspeed.session.session import Session
from landspeed.session.target import Target

PRESET = "confirm"


@dataclass(kw_only=True)
class ConfirmRun:
    """An ConfirmRun tests Nominations one after the other; ``budget`` and ``seconds`` are of each.

    What failed is in ``errors``, and the others went on.
    """

    session: Session
    budget: float
    seconds: int = Question.seconds
    fresh: bool = False
    errors: list[LandspeedError] = field(default_factory=list)

    def of(self, nominations: Iterable[Nomination]) -> list[Confirmation]:
        """What is known now of each of *nominations*; what was known before is not measured again.

        Those of other machines are left as they are: the step is to be seen where it was.
        """
        notes = self.session.records.confirmations
        known = newest(notes.all())
        found = []
        for nomination in {one.key: one for one in nominations}.values():
            before = known.get(nomination.key)
            done = before is not None and before.fate in (
                ConfirmationStatus.CONFIRMED,
                ConfirmationStatus.REFUTED,
            )
            if before is not None and done and not self.fresh:
                found.append(before)
                continue
            try:
                confirmation = self._one(nomination)
            except LandspeedError as error:
                self.errors.append(error)
                say(f"{nomination}\n{error}")
                continue
            if confirmation.fate is not ConfirmationStatus.NOMINATED:
                notes.add(confirmation.facts())
            found.append(confirmation)
        return found

    def _one(self, nomination: Nomination) -> Confirmation:
        say(f"nominated: {nomination}")
        if nomination.machine != self.session.machine.name:
            return _without_runs(
                nomination, ConfirmationStatus.NOMINATED, f"it is of machine {nomination.machine}"
            )
        contest = self._contest(nomination)
        first, second = contest.contenders
        if first.key == second.key:
            return _without_runs(
                nomination, ConfirmationStatus.REFUTED, "both are the very same server"
            )
        carry_out = compare_counts if contest.metric.exact else compare
        course = carry_out(self.session, contest, fresh=self.fresh)
        (finding,) = course.comparison.findings
        return Confirmation(
            nomination=nomination,
            fate=fate_of(nomination, finding),
            time=_now(),
            comparison=course.identifier,
            finding=finding.facts(),
        )

    def _contest(self, nomination: Nomination) -> ComparePlan:
        params = nomination.params
        metric = metric_named(nomination.metric)
        question = parse_question(
            "/".join((nomination.mode, params.protocol, params.scale, f"c{params.clients}")),
            seconds=self.seconds,
        )
        sides = [
            Side(
                target=Target(ref=_ref(origin), variant=nomination.variant),
                profile=params.profile,
            )
            for origin in (nomination.before, nomination.after)
        ]
        contenders = contenders_of(self.session, sides, question, metric.buffers)
        return ComparePlan(
            contenders=tuple(contenders),
            pgbench=Pgbench(build=self.session.pgbench_build()),
            metric=metric,
            goal=_goal(nomination, metric),
            seconds=question.seconds,
            budget=self.budget,
            preset=PRESET,
        )


def _goal(nomination: Nomination, metric: Metric) -> StoppingRule:
    return StoppingRule(
        precision=nomination.precision,
        higher_is_better=metric.higher_is_better,
        exact=metric.exact,
    )


def _ref(origin: Origin) -> str:
    ref = f"@{origin.registered}" if origin.registered else origin.release or origin.commit
    if not ref:
        raise UsageError(f"nobody can build {origin.name} again: it is no release and no commit")
    return ref


def _without_runs(nomination: Nomination, fate: ConfirmationStatus, reason: str) -> Confirmation:
    return Confirmation(nomination=nomination, fate=fate, time=_now(), reason=reason)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def inquiry_failure(errors: list[LandspeedError]) -> MeasureError | None:
    """The error that an ConfirmRun ends with that went on after some."""
    if not errors:
        return None
    return MeasureError(
        f"{len(errors)} steps could not be put to the test, the others were",
        detail="\n".join(dict.fromkeys(error.message for error in errors)),
        hint="Mend the cause and give the same command again: what is known is not measured again.",
    )


def facts_of(found: Iterable[Confirmation]) -> list[dict[str, Any]]:
    """What became of each, as JSON can hold it."""
    return [{"key": one.nomination.key, **one.facts()} for one in found]
