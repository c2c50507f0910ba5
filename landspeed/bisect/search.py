"""The search: decide, build, measure, write it down, until there is an answer or no time left."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from base.build import Build
from base.errors import BuildError, ClusterError, LandspeedError, MeasureError, SourceError
from landspeed.bisect.commit_range import Candidate, CommitRange
from landspeed.bisect.decide import BisectProgress, decide, other_changes, progress_of
from landspeed.bisect.journal import Event, Journal
from landspeed.bisect.model import Costs, Culprit, Decision, Hypothesis, Observations, Probe
from landspeed.console.format import counted
from landspeed.console.progress import Meter, meter, say

_clock = time.monotonic
_MAX_SEED = 2**31 - 1


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The value of one run, in the metric's unit; of a count also its record and its spread."""

    value: float
    record: str | None = None
    spread: float | None = None


@dataclass(frozen=True, kw_only=True)
class SearchCallbacks:
    """How a search builds and measures.

    ``build`` builds a candidate, ``sample`` makes one run of a build with a random seed, and
    ``recorded`` returns the values of its runs that were in the results beforehand.
    """

    build: Callable[[Candidate], Build]
    sample: Callable[[Build, int], Reading]
    recorded: Callable[[Build], Sequence[float]]


@dataclass(frozen=True, kw_only=True)
class Conclusion:
    """What a search came to; ``decision`` is None if the budget was spent.

    ``others`` are steps at which the level changes beside the culprit.
    """

    decision: Decision | None
    observations: Observations
    progress: BisectProgress
    others: tuple[range, ...] = ()


@dataclass(kw_only=True)
class Search:
    """A search through ``commits`` for the step of a hypothesis.

    ``sign`` is -1 where the metric is to be negated. ``budget`` is the time in seconds that the
    search may take, earlier sessions included; ``estimate`` are the costs before any are known.
    """

    commits: CommitRange
    hypothesis: Hypothesis
    sign: int
    journal: Journal
    callbacks: SearchCallbacks
    budget: float
    estimate: Costs
    _builds: dict[str, Build] = field(default_factory=dict)

    def run(self) -> Conclusion:
        """Continue where the journal ends. An end that cannot be built or measured is an error."""
        with meter("bisecting") as shown:
            while True:
                observations, costs = self.observations, self.journal.costs(self.estimate)
                decision = decide(self.hypothesis, observations, costs)
                if not isinstance(decision, Probe):
                    return self._concluded(decision, observations)
                if self.journal.spent + costs.run > self.budget:
                    return self._concluded(None, observations)
                self._show(observations, costs, shown)
                self._probe(decision.position)

    @property
    def observations(self) -> Observations:
        """Everything that was measured so far."""
        counted_metric = self.hypothesis.counted
        return self.journal.observations(self.commits, self.sign, counted=counted_metric)

    def _concluded(self, decision: Decision | None, observations: Observations) -> Conclusion:
        others: Sequence[range] = ()
        if isinstance(decision, Culprit):
            others = other_changes(self.hypothesis, observations, decision.last)
        return Conclusion(
            decision=decision,
            observations=observations,
            progress=progress_of(self.hypothesis, observations),
            others=tuple(others),
        )

    def _probe(self, position: int) -> None:
        """Build *position* and measure it, unless it is identical to a measured server."""
        is_new = position not in self.observations.servers
        build = self.built(position)
        if build is not None and not (is_new and self.observations.runs(position)):
            self._measure(position, build)

    def measured(self, position: int) -> Event:
        """Return the first run of the server at *position*, made now if there is none."""
        find = (self.journal, self.commits, self.observations, position)
        while (event := first_run(*find)) is None:
            build = self.built(position)
            if build is None:
                raise MeasureError(f"{self.commits[position].name} cannot be measured")
            self._measure(position, build)
        return event

    def _measure(self, position: int, build: Build) -> None:
        candidate = self.commits[position]
        number = len(self.journal.of("run")) + len(self.journal.of("failed"))
        dice = random.Random(f"{self.journal.path.stem}/{number}")  # noqa: S311  not a secret
        began = _clock()
        try:
            reading = self.callbacks.sample(build, dice.randint(1, _MAX_SEED))
        except (MeasureError, ClusterError) as error:
            seconds = _since(began)
            self.journal.add(
                Event(
                    event="failed",
                    candidate=candidate.ref,
                    seconds=seconds,
                    reason=error.message,
                )
            )
            if candidate.ref in self.journal.skipped:
                self._skip(position, error, "cannot be measured")
            return
        self.journal.add(
            Event(
                event="run",
                candidate=candidate.ref,
                seconds=_since(began),
                value=reading.value,
                record=reading.record,
                spread=reading.spread,
            )
        )

    def built(self, position: int) -> Build | None:
        """Return the build at *position*, made if necessary; None if it cannot be built."""
        candidate = self.commits[position]
        ref = candidate.ref
        if ref in self._builds:
            return self._builds[ref]
        began = _clock()
        try:
            build = self.callbacks.build(candidate)
        except (BuildError, SourceError) as error:
            self.journal.add(
                Event(event="skipped", candidate=ref, seconds=_since(began), reason=error.message)
            )
            self._skip(position, error, "cannot be built")
            return None
        self._builds[ref] = build
        servers = self.observations.servers
        if position not in servers:
            self.journal.add(
                Event(
                    event="built",
                    candidate=ref,
                    seconds=_since(began),
                    server=build.digest,
                    build=build.identifier,
                )
            )
            # Runs of an identical server are known already, and may be our own.
            known = build.digest in servers.values()
            values = () if known else tuple(self.callbacks.recorded(build))
            if values:
                self.journal.add(Event(event="recorded", candidate=ref, values=values))
                say(f"{candidate.name}: {counted(len(values), 'run')} in the results already")
        return build

    def _skip(self, position: int, error: LandspeedError, what: str) -> None:
        name = self.commits[position].name
        if position not in (0, self.commits.last):
            say(f"skipped: {name} {what}: {error.message}")
            return
        end = "GOOD" if position == 0 else "BAD"
        raise type(error)(
            f"{end} ({name}) {what}",
            detail="\n".join(filter(None, (error.message, error.detail))),
            hint=error.hint or "Choose another end: GOOD and BAD must build and run.",
        ) from error

    def _show(self, observations: Observations, costs: Costs, shown: Meter) -> None:
        left = progress_of(self.hypothesis, observations)
        spent = self.journal.spent
        seconds = min(left.runs * (costs.run + costs.build / 3), self.budget - spent)
        first, last = self.commits[left.first], self.commits[left.last]
        where = f"{left.last - left.first + 1} left, {first.name} to {last.name}"
        runs, builds = len(self.journal.of("run")), len(self.journal.of("built"))
        done = f"{counted(runs, 'run')}, {counted(builds, 'build')}"
        shown.update(spent / max(spent + seconds, 1e-9), f"{where}; {done}", left=seconds)


def first_run(
    journal: Journal, commits: CommitRange, observations: Observations, position: int
) -> Event | None:
    """Return the first run in *journal* of the server at *position*, if any."""
    identical = {commits[at].ref for at in observations.identical(position)}
    return next((event for event in journal.of("run") if event.candidate in identical), None)


def _since(began: float) -> float:
    return round(_clock() - began, 3)
