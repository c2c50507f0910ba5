"""Test changepoints on fresh samples: compare the two sides of each."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from math import inf
from typing import Any

from base.build import Origin
from base.errors import LandspeedError, UsageError, some_failed
from base.typed import to_json
from benchmarks.workloads.metrics import metric_named
from landspeed.changepoints.changepoint import (
    DECIDED,
    Changepoint,
    ChangepointStatus,
    Confirmation,
    newest,
    status_of,
)
from landspeed.compare.plan import ComparePlan
from landspeed.compare.prepare import plan_comparison
from landspeed.compare.run import compare
from landspeed.compare.side import CompareScenario, Side, parse_scenario
from landspeed.compare.timed import recorded_state
from landspeed.compare.verdict import StoppingRule
from landspeed.console.progress import say
from landspeed.sampling.rounds import counting_seconds
from landspeed.session.session import Session
from landspeed.session.target import Target

PRESET = "confirm"


@dataclass(kw_only=True)
class ConfirmRun:
    """Tests changepoints one after the other and goes on after failures, kept in ``errors``.

    Each gets a ``budget``, in seconds, for runs of ``seconds`` each, until the monotonic clock
    reads ``end``: those that are left then stay nominated. With ``fresh``, changepoints
    that were confirmed or refuted before are measured again.
    """

    session: Session
    budget: float
    end: float = inf
    seconds: int = CompareScenario.seconds
    fresh: bool = False
    errors: list[LandspeedError] = field(default_factory=list)

    def of(self, changepoints: Iterable[Changepoint]) -> list[Confirmation]:
        """Return what is now known of each of *changepoints*; add what is new to the notes.

        A changepoint of another machine stays nominated: it must be shown where it was seen.
        """
        notes = self.session.records.confirmations
        known = newest(notes.read(Confirmation))
        found = []
        for key, changepoint in {one.key: one for one in changepoints}.items():
            before = known.get(key)
            if before is not None and before.status in DECIDED and not self.fresh:
                found.append(before)
                continue
            if time.monotonic() >= self.end:
                _later(changepoint)
                continue
            try:
                confirmation = self._one(changepoint)
            except LandspeedError as error:
                self.errors.append(error)
                say(f"{changepoint}\n{error}")
                continue
            if confirmation.status is not ChangepointStatus.NOMINATED:
                notes.add(confirmation)
            found.append(confirmation)
        return found

    def failure(self, tested: int) -> LandspeedError | None:
        """Return the error that the command ends with, if any, after *tested* confirmations."""
        messages = [error.message for error in self.errors]
        return some_failed(messages, tested + len(messages), "tests of changepoints")

    def _one(self, changepoint: Changepoint) -> Confirmation:
        say(f"nominated: {changepoint}")
        if changepoint.machine != self.session.machine.name:
            reason = f"it is of machine {changepoint.machine}"
            return _confirmation(changepoint, ChangepointStatus.NOMINATED, reason=reason)
        plan = self._plan(changepoint)
        first, second = plan.sides
        if first.key == second.key:
            reason = "both are the very same server"
            return _confirmation(changepoint, ChangepointStatus.REFUTED, reason=reason)
        is_counted, left = plan.metric.exact, self.end - time.monotonic()
        cores = self.session.machine.cores
        if left < (counting_seconds(2, cores) if is_counted else plan.block_estimate):
            return _later(changepoint)
        if not is_counted:
            # The budget of a comparison counts the blocks of earlier sessions, the total does not.
            recorded = recorded_state(self.session, plan, fresh=self.fresh)
            plan = replace(plan, budget=min(self.budget, recorded.spent + left))
        # a recorded count is what nominated it
        state = compare(self.session, plan, fresh=self.fresh or is_counted)
        (finding,) = state.comparison.findings
        status, facts = status_of(changepoint, finding), finding.facts()
        return _confirmation(changepoint, status, comparison=state.identifier, finding=facts)

    def _plan(self, changepoint: Changepoint) -> ComparePlan:
        cell = str(replace(changepoint.cell, configuration=None))
        scenario = parse_scenario(cell, seconds=self.seconds)
        targets = (
            Target(ref=_ref(origin), variant=changepoint.variant)
            for origin in (changepoint.before, changepoint.after)
        )
        sides = [Side(target=one, profile=changepoint.params.profile) for one in targets]
        return plan_comparison(
            self.session,
            sides,
            scenario,
            metric=metric_named(changepoint.metric),
            budget=min(self.budget, self.end - time.monotonic()),
            preset=PRESET,
            rule=StoppingRule(precision=changepoint.precision),
        )


def _later(changepoint: Changepoint) -> Confirmation:
    reason = "the total time is spent"
    say(f"later, because {reason}: {changepoint}")
    return _confirmation(changepoint, ChangepointStatus.NOMINATED, reason=reason)


def _ref(origin: Origin) -> str:
    ref = f"@{origin.registered}" if origin.registered else origin.release or origin.commit
    if not ref:
        raise UsageError(
            f"{origin.name} cannot be built again: it is neither a release nor a commit"
        )
    return ref


def _confirmation(changepoint: Changepoint, status: ChangepointStatus, **more: Any) -> Confirmation:
    """Return the confirmation of now; *more* are its other fields."""
    time = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return Confirmation(changepoint=changepoint, status=status, time=time, **more)


def confirmations_facts(found: Iterable[Confirmation]) -> list[dict[str, Any]]:
    """Return *found* as JSON can hold it, each with the key of its changepoint."""
    return [{"key": one.changepoint.key, **to_json(one)} for one in found]
