"""The Search: decide, build, run, write it down, until there is an answer or the time is spent."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from base.build import Build
from base.errors import BuildError, ClusterError, LandspeedError, MeasureError, SourceError
from landspeed.bisect.commit_range import Candidate, CommitRange
from landspeed.bisect.decide import Remainder, decide, other_steps, remainder
from landspeed.bisect.journal import Journal
from landspeed.bisect.model import Costs, Culprit, Decision, Evidence, Hypothesis, Probe
from landspeed.bisect.replay import Events, costs_of, evidence_of, skipped, spent
from landspeed.console.progress import Meter, meter, say

_clock = time.monotonic
_MAX_SEED = 2**31 - 1


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A Reading is the number that one Run gave, in the metric's unit, and what to note of it."""

    value: float
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Means:
    """Means are how a bisection comes by what it needs.

    ``build`` makes a Candidate's Build, ``sample`` one Run of it with a random seed;
    ``recorded`` are the Runs of that server that the results had beforehand.
    """

    build: Callable[[Candidate], Build]
    sample: Callable[[Build, int], Reading]
    recorded: Callable[[Build], Sequence[float]]


@dataclass(frozen=True, kw_only=True)
class Conclusion:
    """A Conclusion is what a bisection came to; its ``decision`` is None if the time ran out.

    ``others`` are further steps that the measurements cannot be explained without.
    """

    decision: Decision | None
    evidence: Evidence
    remainder: Remainder
    others: tuple[range, ...] = ()


@dataclass(kw_only=True)
class Search:
    """A Search goes through a Line by the rules of a Hypothesis; ``sign`` is -1 where high is good.

    ``budget`` are the seconds it may take, those of earlier sessions included.
    """

    line: CommitRange
    quest: Hypothesis
    sign: int
    journal: Journal
    means: Means
    budget: float
    guess: Costs
    _builds: dict[str, Build] = field(default_factory=dict)

    def run(self) -> Conclusion:
        """Go on from where the Journal ends. An end that does not build or run is an error."""
        with meter("bisecting") as shown:
            while True:
                evidence = self.evidence
                costs = costs_of(self.journal.events, self.guess)
                decision = decide(self.quest, evidence, costs)
                if not isinstance(decision, Probe):
                    return self._concluded(decision, evidence)
                if spent(self.journal.events) + costs.run > self.budget:
                    return self._concluded(None, evidence)
                self._show(evidence, costs, shown)
                self._probe(decision.position)

    @property
    def evidence(self) -> Evidence:
        """All that is known by now."""
        events: Events = self.journal.events
        return evidence_of(self.line, events, self.sign, is_exact=self.quest.is_exact)

    def _concluded(self, decision: Decision | None, evidence: Evidence) -> Conclusion:
        others: Sequence[range] = ()
        if isinstance(decision, Culprit):
            others = other_steps(self.quest, evidence, decision.last)
        return Conclusion(
            decision=decision,
            evidence=evidence,
            remainder=remainder(self.quest, evidence),
            others=tuple(others),
        )

    def _probe(self, position: int) -> None:
        """Build what is at *position*, and make a Run of it unless it is known as a twin."""
        is_new = position not in self.evidence.servers
        build = self.built(position)
        if build is not None and not (is_new and self.evidence.runs(position)):
            self._measure(position, build)

    def measured(self, position: int) -> Mapping[str, Any]:
        """The first Run of the server at *position* that was made here; made now if need be."""
        alike = {self.line[at].ref for at in self.evidence.alike(position)}
        while not any(event["candidate"] in alike for event in self.journal.of("run")):
            build = self.built(position)
            if build is None:
                break
            self._measure(position, build)
        return next(event for event in self.journal.of("run") if event["candidate"] in alike)

    def _measure(self, position: int, build: Build) -> None:
        candidate = self.line[position]
        number = len(self.journal.of("run")) + len(self.journal.of("failed"))
        dice = random.Random(f"{self.journal.path.stem}/{number}")  # noqa: S311  not a secret
        began = _clock()
        try:
            reading = self.means.sample(build, dice.randint(1, _MAX_SEED))
        except (MeasureError, ClusterError) as error:
            self._add("failed", candidate, began, reason=error.message)
            if candidate.ref in skipped(self.journal.events):
                self._pass_over(position, error, "fails under measuring")
            return
        self._add("run", candidate, began, value=reading.value, **reading.notes)

    def built(self, position: int) -> Build | None:
        """The Build at *position*, made if need be; None if it cannot be, and is skipped."""
        candidate = self.line[position]
        if candidate.ref in self._builds:
            return self._builds[candidate.ref]
        began = _clock()
        try:
            build = self.means.build(candidate)
        except (BuildError, SourceError) as error:
            self._add("skipped", candidate, began, reason=error.message)
            self._pass_over(position, error, "cannot be built")
            return None
        self._builds[candidate.ref] = build
        servers = self.evidence.servers
        if position not in servers:
            self._add("built", candidate, began, server=build.digest, build=build.identifier)
            # of a twin they are known, and some of them are our own by now
            is_twin = build.digest in servers.values()
            values = [] if is_twin else list(self.means.recorded(build))
            if values:
                self.journal.add("recorded", candidate=candidate.ref, values=values)
                say(f"{candidate.name}: runs of it that are in the results already: {len(values)}")
        return build

    def _add(self, event: str, candidate: Candidate, began: float, **facts: Any) -> None:
        seconds = round(_clock() - began, 3)
        self.journal.add(event, candidate=candidate.ref, seconds=seconds, **facts)

    def _pass_over(self, position: int, error: LandspeedError, what: str) -> None:
        name = self.line[position].name
        if position not in (0, self.line.last):
            say(f"skipped: {name} {what}: {error.message}")
            return
        end = "GOOD" if position == 0 else "BAD"
        raise type(error)(
            f"{end} ({name}) {what}",
            detail="\n".join(filter(None, (error.message, error.detail))),
            hint=error.hint or "A bisection needs two ends that build and run: choose another one.",
        ) from error

    def _show(self, evidence: Evidence, costs: Costs, shown: Meter) -> None:
        left = remainder(self.quest, evidence)
        gone = spent(self.journal.events)
        seconds = min(left.runs * (costs.run + costs.build / 3), self.budget - gone)
        first, last = self.line[left.first], self.line[left.last]
        where = f"{left.last - left.first + 1} left, {first.name} to {last.name}"
        counts = f"{len(self.journal.of('run'))} runs, {len(self.journal.of('built'))} builds"
        shown.update(gone / max(gone + seconds, 1e-9), f"{where}; {counts}", left=seconds)
