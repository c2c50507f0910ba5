"""Count every change found a second time, at the commit and at its parent, before it is reported.

In the search the two may have been counted among different workloads, and a workload's count may
depend on what its server counted before. Here both are counted for the same workloads in the same
order: only the commit differs. These counts only check; the search goes on with its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from math import copysign, log

from base.build import Build
from base.errors import LandspeedError
from benchmarks.counted.profiles import profile_path
from benchmarks.records.record import Record
from landspeed.atlas.run import Atlas
from landspeed.atlas.search import AtlasStep, KnownLevels, next_probe, steps
from landspeed.atlas.shares import WorkChunk
from landspeed.bisect.journal import Event
from landspeed.console.format import counted
from landspeed.console.progress import say

KindKey = tuple[str, str]
"""A commit and the name of a workload."""


def ratios_again(atlas: Atlas) -> dict[KindKey, float]:
    """Return the second ratio of commit to parent of each change that was counted again."""
    events = atlas.current("repeated")
    return {(str(e.candidate), str(e.workload)): e.value for e in events if e.value is not None}


def keys_of(atlas: Atlas, step: AtlasStep) -> set[KindKey]:
    """Return the changes of *step*, those of the size asked for."""
    return {(atlas.request.commits[step.last].ref, name) for name in step.changes}


def due_again(atlas: Atlas, known: KnownLevels) -> set[KindKey]:
    """Return the changes by single commits that no machine has tried to count a second time."""
    tried = {(str(one.candidate), str(one.workload)) for one in atlas.current("repeated")}
    found = (one for one in steps(atlas.question, known) if one.first == one.last)
    return {key for step in found for key in keys_of(atlas, step)} - tried


def chunks_again(atlas: Atlas, known: KnownLevels) -> list[WorkChunk]:
    """Return the second counts that are due, as work for the machine that has the commit."""
    due = Counter(atlas.request.commits.positions[ref] for ref, _ in due_again(atlas, known))
    seconds = atlas.question.seconds
    return [WorkChunk(first=at, last=at, seconds=seconds(1, 2 * n)) for at, n in due.items()]


def is_complete(atlas: Atlas, known: KnownLevels) -> bool:
    """Return whether the questions of all shares are settled, and no second count is due."""
    whole = replace(atlas.question, share=None)
    return next_probe(whole, known) is None and not due_again(atlas, known)


def not_repeated(atlas: Atlas, found: Iterable[AtlasStep]) -> set[KindKey]:
    """Return the changes of *found* that were below the size, or opposite, the second time."""
    least, again = atlas.question.threshold, ratios_again(atlas)
    return {
        key
        for step in found
        for key in keys_of(atlas, step) & again.keys()
        if log(again[key]) * copysign(1, step.changes[key[1]]) < least
    }


def count_again(atlas: Atlas, before: Build, after: Build, names: list[str]) -> None:
    """Count the workloads *names* on both builds, and write their ratios into the journal.

    What cannot be counted is written down without a ratio; the next search tries it again.
    """
    say(f"counting {counted(len(names), 'change')} by {after.label} again, beside its parent")
    old, new = dict[str, float](), dict[str, float]()
    try:
        old, new = (_instructions(atlas, build, names) for build in (before, after))
    except LandspeedError as error:
        say(str(error))
    if atlas.is_out_of_time:  # what is missing was not tried
        names = [name for name in names if name in old and name in new]
    for name in names:
        event = Event(
            event="repeated",
            candidate=after.origin.commit,
            parent=before.origin.commit,
            workload=name,
            value=new[name] / old[name] if name in old and name in new else None,
            definition=atlas.definition(name),
        )
        atlas.journal.add(event)


def _instructions(atlas: Atlas, build: Build, names: list[str]) -> dict[str, float]:
    found: dict[str, float] = {}

    def done(workload: str, outcome: Record | LandspeedError) -> None:
        if isinstance(outcome, LandspeedError):
            say(str(outcome))
            return
        profile_path(atlas.request.session.paths, outcome.id).unlink(missing_ok=True)
        if value := outcome.sample.instructions:
            found[workload] = value

    atlas.count_each(build, names, done)
    return found
