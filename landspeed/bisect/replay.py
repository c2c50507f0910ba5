"""From a Journal's events to what the rules know: Evidence, costs, time spent. Pure.

- ``built``: a candidate's Build, the ``server`` it installs (a digest).
- ``skipped``: a candidate that does not build, and the ``reason``.
- ``failed``: a Run that failed; a candidate of which two failed is skipped.
- ``run``: one Run's ``value``, in the metric's unit.
- ``recorded``: ``values`` of Runs of that server that were in the results beforehand.
- ``verified``: what comparing culprit and parent said.

All but the last name their ``candidate`` and the ``seconds`` it took.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log
from typing import Any

from landspeed.bisect.commit_range import CommitRange
from landspeed.bisect.model import Costs, Evidence
from landspeed.bisect.rule_timed import END_RUNS
from landspeed.stats.students_t import welch

Events = Sequence[Mapping[str, Any]]

_TRIES = 2
# How unlikely a difference between earlier and fresh Runs of one server must be by chance
# before the earlier ones are held to be of another machine than this is today.
_DRIFTED = 0.01
# By how much, as a logarithm, two counts of one server may differ.
_REPEATS = 0.001
_LATEST = 5


def evidence_of(
    line: CommitRange, events: Events, sign: int, *, is_exact: bool = False
) -> Evidence:
    """What *events* say of *line*; *sign* is -1 where a higher number is better."""
    positions = line.positions
    samples: dict[int, list[float]] = defaultdict(list)
    earlier: dict[int, list[float]] = defaultdict(list)
    servers: dict[int, str] = {}
    for event in events:
        at = positions.get(event.get("candidate", ""))
        match event["event"], at:
            case "built", int():
                servers[at] = event["server"]
            case "run", int():
                samples[at].append(sign * log(event["value"]))
            case "recorded", int():
                earlier[at] += [sign * log(value) for value in event["values"]]
    fresh = Evidence(
        samples={at: tuple(values) for at, values in samples.items()},
        skipped=frozenset(positions[ref] for ref in skipped(events) if ref in positions),
        servers=servers,
    )
    if not _are_of_today(fresh, earlier, line.last, is_exact=is_exact):
        return fresh
    both = {at: (*earlier[at], *samples[at]) for at in {*samples, *earlier}}
    return replace(fresh, samples=both)


def _are_of_today(
    fresh: Evidence, earlier: Mapping[int, Sequence[float]], last: int, *, is_exact: bool
) -> bool:
    """Whether *earlier* Runs count: both ends were measured afresh, and are where they were."""
    for end in (0, last):
        now, then = fresh.samples.get(end, ()), earlier.get(end, ())
        if len(now) < (1 if is_exact else END_RUNS):
            return False
        if is_exact and any(abs(value - now[0]) > _REPEATS for value in then):
            return False
        if not is_exact and len(then) > 1 and welch(now, then) < _DRIFTED:
            return False
    return True


def skipped(events: Events) -> dict[str, str]:
    """The candidates that are passed over, each with the reason."""
    found = {e["candidate"]: str(e["reason"]) for e in events if e["event"] == "skipped"}
    failures = Counter(e["candidate"] for e in events if e["event"] == "failed")
    for event in events:
        if event["event"] == "failed" and failures[event["candidate"]] >= _TRIES:
            found.setdefault(event["candidate"], str(event["reason"]))
    return found


def spent(events: Events) -> float:
    """The seconds that all of it took."""
    return float(sum(event.get("seconds", 0.0) for event in events))


def costs_of(events: Events, guess: Costs) -> Costs:
    """What a Run and a build cost by the latest of them; *guess* where there is none."""
    runs = [event["seconds"] for event in events if event["event"] == "run"]
    # GOOD and BAD are far apart and may have been in the store: they say little of neighbours
    builds = [e["seconds"] for e in events if e["event"] in ("built", "skipped")][2:]
    return Costs(
        run=_mean(runs[-_LATEST:]) or guess.run, build=_mean(builds[-_LATEST:]) or guess.build
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
