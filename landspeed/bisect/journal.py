"""The journal of a bisection: a file of events that survives a kill, and what they add up to.

Events are only ever appended, and the file is replaced atomically after each. Everything that a
bisection knows is computed from them, so whoever has the file can continue where it ends.

- ``built``: a candidate's build, and the ``server`` it installs (a digest).
- ``skipped``: a candidate that cannot be built, with the ``reason``.
- ``failed``: a run that failed; a candidate with two failed runs is skipped.
- ``run``: the ``value`` of one run, in the metric's unit.
- ``recorded``: the ``values`` of runs of that server that were in the results beforehand.
- ``refused``: a ``workload`` that cannot be counted on a candidate, with the ``reason`` and the
  digest of its ``definition``; only of searches over many workloads, whose runs name their workload
  as well.
- ``repeated``: a commit and its ``parent`` were counted again for a ``workload``; ``value`` is the
  ratio of the two counts; of such searches.
- ``explained``: the kind of a commit's change of a ``workload``, as ``reason``; of such searches.
- ``verified``: the ``finding`` of the comparison of the culprit with its parent.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from math import log
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from annotated_types import Gt, Le
from pydantic import AllowInfNan, NonNegativeFloat, PositiveInt, TypeAdapter

from base.errors import RecordError, reason
from base.files import canonical_json, digest_text, locked, read_json, warn_set_aside, write_atomic
from base.typed import from_json
from landspeed.bisect.commit_range import CommitRange
from landspeed.bisect.decide import END_RUNS
from landspeed.bisect.model import Costs, Observations
from landspeed.compare.verdict import Finding, Verdict
from landspeed.stats.students_t import welch

BISECTIONS, ATLAS = "bisect", "atlas"
"""The directories of journals: of bisections, and of searches over many workloads."""

_SCHEMA = 1
_TRIES = 2
# Earlier and fresh runs of one server that differ with a smaller p-value than this are taken to
# be measured on a machine that has changed since.
_DRIFTED = 0.01
# The most by which two counts of one server may differ, as a logarithm.
_REPEATS = 0.001
# Builds become cheaper as the candidates come closer. The first count on a server includes the
# loading of its data: an estimate from 50 runs jumped between two and four hours.
_LATEST_BUILDS, _LATEST_RUNS = 5, 200


Number = PositiveInt | Annotated[float, Gt(0), AllowInfNan(False)]
"""A value of a run, whose logarithm is taken."""

# what other machines hand over may be forged: 30 years at most, so that a sum stays a number
_Seconds = Annotated[NonNegativeFloat, Le(1e9)]


@dataclass(frozen=True, kw_only=True)
class Verification:
    """The comparison of the culprit with its parent.

    ``ratio`` is the culprit's value by its parent's; the intervals are those of a
    `landspeed.compare.verdict.Finding`. ``comparison`` identifies the runs, None for counts.
    """

    verdict: Verdict
    ratio: float
    interval: tuple[float, float] | None = None
    interval_95: tuple[float, float] | None = None
    blocks: int | None = None
    further_blocks: int | None = None
    runs: int
    comparison: str | None = None

    @classmethod
    def of(cls, finding: Finding, *, runs: int, comparison: str | None = None) -> Self:
        """Return the verification by a comparison of so many *runs* that ended with *finding*."""
        own = {"ratio": finding.ratio or 1.0, "runs": runs, "comparison": comparison}
        return from_json(cls, finding.facts() | own)


@dataclass(frozen=True, kw_only=True)
class Event:
    """An event of a journal; fields that its kind does not have are None.

    ``candidate``, ``parent`` and ``culprit`` are refs of candidates. ``seconds`` is how long it
    took; ``spread`` is a share.
    """

    event: Literal[
        "built",
        "skipped",
        "failed",
        "run",
        "recorded",
        "refused",
        "repeated",
        "explained",
        "verified",
    ]
    candidate: str | None = None
    parent: str | None = None
    culprit: str | None = None
    finding: Verification | None = None
    seconds: _Seconds | None = None
    server: str | None = None
    build: str | None = None
    reason: str | None = None
    value: Number | None = None
    record: str | None = None
    spread: float | None = None
    values: tuple[Number, ...] | None = None
    workload: str | None = None
    definition: str | None = None

    def facts(self) -> dict[str, Any]:
        """Return the event as JSON can hold it."""
        # asdict copies every value, which took most of what an event of a long search costs
        known = {name: one for name, one in vars(self).items() if one is not None}
        return known | ({"finding": asdict(self.finding)} if self.finding else {})


# the name of the part that takes the place of a damaged journal
_INSTEAD = "0" * 8
_EVENTS = TypeAdapter(tuple[Event, ...])
_INPUTS = TypeAdapter(dict[str, str | int | float | dict[str, Any] | None])


@dataclass(kw_only=True)
class Journal:
    """The file of a bisection: the ``inputs`` that identify it, and its ``events``.

    ``others`` are the events that other machines have found for the same search.
    """

    path: Path
    inputs: Mapping[str, Any]
    events: list[Event] = field(default_factory=list)
    others: Sequence[Event] = ()

    @classmethod
    @contextmanager
    def open(
        cls,
        directory: Path,
        stem: str,
        inputs: Mapping[str, Any],
        *,
        fresh: bool = False,
        part: str = "",
        alone: bool = True,
    ) -> Iterator[Self]:
        """Open the newest journal of *inputs* in *directory*, or a new one if *fresh*.

        *alone* excludes every other process that asks for it alone. Only then may events be added;
        to read it takes no lock.

        The name of its file begins with *stem*. A damaged one is set aside with a warning: its
        runs are in the records and are used again. BusyError names the process that has it.
        With a *part*, eight hex digits, it is a file of that name beside the newest: of one of
        several machines that search at once. Whoever opens a journal has all parts as ``others``.
        """
        name = f"{stem}-{digest_text(canonical_json(inputs))[:8]}"
        busy = "another landspeed carries out this bisection"
        lock = directory / f".{name}{part}.lock"
        with locked(lock, wait=False, busy=busy) if alone else nullcontext():
            numbered = re.compile(rf"{re.escape(name)}-(\d+)(?:-[0-9a-f]{{8}})?\.json")
            found = {p: int(m[1]) for p in directory.glob("*") if (m := numbered.fullmatch(p.name))}
            newest = max(found.values(), default=0) + (1 if fresh or not found else 0)
            events = {p: _sound(p) for p, number in sorted(found.items()) if number == newest}
            path = directory / f"{name}-{newest}{part and f'-{part}'}.json"
            if events.get(path, []) is None:
                del events[path]
                # With a higher number the parts of this one would not be read again.
                instead = f"{newest}-{_INSTEAD}" if events else f"{newest + 1}"
                path = directory / f"{name}-{instead}.json"
            own = events.pop(path, [])
            others = [event for some in events.values() for event in some or ()]
            yield cls(path=path, inputs=inputs, events=own or [], others=others)

    def add(self, event: Event) -> None:
        """Append *event*; it is on disk when this returns."""
        self.events.append(event)
        events = [one.facts() for one in self.events]
        whole = {"schema": _SCHEMA, "inputs": dict(self.inputs), "events": events}
        write_atomic(self.path, json.dumps(whole, indent=1, ensure_ascii=False) + "\n")

    def of(self, kind: str) -> list[Event]:
        """Return the events of one kind, in their order, those of others first."""
        return [one for one in self._all if one.event == kind]

    @property
    def _all(self) -> tuple[Event, ...]:
        return (*self.others, *self.events)

    @property
    def spent(self) -> float:
        """The seconds that all events took."""
        return float(sum(event.seconds or 0.0 for event in self.events))

    @property
    def skipped(self) -> dict[str, str]:
        """The refs of the candidates that are skipped, each with the reason."""
        found = {str(e.candidate): str(e.reason) for e in self.of("skipped")}
        failures = Counter(event.candidate for event in self.of("failed"))
        for event in self.of("failed"):
            if failures[event.candidate] >= _TRIES:
                found.setdefault(str(event.candidate), str(event.reason))
        return found

    def costs(self, estimate: Costs) -> Costs:
        """Return what a run and a build cost by the latest of them, else *estimate*."""
        runs = [event.seconds or 0.0 for event in self.of("run")]
        builds = [e.seconds or 0.0 for e in self._all if e.event in ("built", "skipped")]
        # GOOD and BAD are far apart, and may have been built before: the first two builds say
        # little about neighbours.
        return Costs(
            run=_mean(runs[-_LATEST_RUNS:]) or estimate.run,
            build=_mean(builds[2:][-_LATEST_BUILDS:]) or estimate.build,
        )

    def observations(self, commits: CommitRange, sign: int, *, counted: bool) -> Observations:
        """Return what was measured of *commits*; *sign* is -1 where a higher value is better."""
        positions = commits.positions
        samples: dict[int, list[float]] = defaultdict(list)
        earlier: dict[int, list[float]] = defaultdict(list)
        servers: dict[int, str] = {}
        for event in self.events:
            at = positions.get(event.candidate or "")
            match event:
                case Event(event="built", server=str(server)) if at is not None:
                    servers[at] = server
                case Event(event="run", value=float() | int() as value) if at is not None:
                    samples[at].append(sign * log(value))
                case Event(event="recorded", values=tuple(values)) if at is not None:
                    earlier[at] += [sign * log(value) for value in values]
        fresh = Observations(
            samples={at: tuple(values) for at, values in samples.items()},
            skipped=frozenset(positions[ref] for ref in self.skipped if ref in positions),
            servers=servers,
        )
        if not _is_unchanged(fresh, earlier, commits.last, counted=counted):
            return fresh
        both = {at: (*earlier[at], *samples[at]) for at in {*samples, *earlier}}
        return replace(fresh, samples=both)


def _is_unchanged(
    fresh: Observations, earlier: Mapping[int, Sequence[float]], last: int, *, counted: bool
) -> bool:
    """Return whether *earlier* runs can be used: fresh runs of both ends agree with them."""
    for end in (0, last):
        now, then = fresh.samples.get(end, ()), earlier.get(end, ())
        if len(now) < (1 if counted else END_RUNS):
            return False
        if counted and any(abs(value - now[0]) > _REPEATS for value in then):
            return False
        if not counted and len(then) > 1 and welch(now, then) < _DRIFTED:
            return False
    return True


def _sound(path: Path) -> list[Event] | None:
    """Return the events in the journal at *path*; None, with a warning, if it is damaged."""
    try:
        return read_journal(path)[1]
    except RecordError as error:
        warn_set_aside(path, error)
        return None


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def elsewhere(journal: Journal) -> list[str]:
    """Return the machines, or this one before it changed, with a journal of the same bisection."""
    places = ("machine", "epoch")
    wanted = {name: value for name, value in journal.inputs.items() if name not in places}
    found = []
    for path in sorted(journal.path.parent.glob("*.json")):
        try:
            inputs, _ = read_journal(path)
        except RecordError:
            continue
        rest = {name: value for name, value in inputs.items() if name not in places}
        if rest == wanted and inputs["machine"] != journal.inputs["machine"]:
            found.append(f"machine {inputs['machine']}")
        elif rest == wanted and inputs["epoch"] != journal.inputs["epoch"]:
            found.append("this machine before its kernel or processor changed")
    return list(dict.fromkeys(found))


def read_journal(path: Path) -> tuple[dict[str, Any], list[Event]]:
    """Return the inputs and the events in the journal at *path*; RecordError if it is damaged."""
    try:
        whole = read_json(path)
        if whole["schema"] != _SCHEMA:
            raise ValueError(f"its schema is {whole['schema']!r:.20}")
        inputs = _INPUTS.validate_python(whole["inputs"])
        if not {"machine", "epoch"} <= inputs.keys():
            raise ValueError("it has no machine")
        return inputs, list(_EVENTS.validate_python(whole["events"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecordError(
            f'could not read the state of a bisection, "{path}"', detail=reason(error)
        ) from error
