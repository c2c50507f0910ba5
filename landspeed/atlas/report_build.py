"""Make the report of a search over many workloads from its journal and its counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from math import exp, log

from landspeed.atlas.kinds import kinds_of
from landspeed.atlas.repeat import KindKey, is_complete, keys_of, not_repeated, ratios_again
from landspeed.atlas.report import (
    AtlasReport,
    CommitChange,
    FunctionChange,
    NotRepeated,
    OpenRange,
    WorkloadChange,
)
from landspeed.atlas.run import Atlas
from landspeed.atlas.search import AtlasStep, grid, intervals, steps, work_left
from landspeed.compare.verdict import COUNTED_DIFFERENCE
from landspeed.profiling.diff import changed_functions
from landspeed.sampling.counted import KnownCount


def atlas_report(atlas: Atlas, command: str) -> AtlasReport:
    """Return the report of *atlas* as far as it has come; *command* is what a person typed."""
    request, journal = atlas.request, atlas.journal
    question, known, commits = atlas.question, atlas.known(), request.commits
    spans: dict[tuple[int, int], list[str]] = {}
    for one in intervals(question, known):
        if one.free:
            spans.setdefault((one.first, one.last), []).append(one.series)
    here = set(commits.positions)
    runs = [event for event in journal.of("run") if event.candidate in here]
    builds = [event for event in journal.of("built") if event.candidate in here]
    points, (builds_left, counts_left) = grid(question, known), work_left(question, known)
    kinds, found = kinds_of(atlas), steps(question, known)
    again, doubtful = ratios_again(atlas), not_repeated(atlas, found)
    return AtlasReport(
        good=commits[0],
        bad=commits[commits.last],
        commits=request.span,
        candidates=commits.last,
        spacing=max((b - a for a, b in pairwise(points)), default=0),
        size=request.size,
        variant=request.variant.name,
        workloads=question.series,
        complete=is_complete(atlas, known),
        changes=tuple(
            _change(atlas, step, kinds, doubtful)
            for step in found
            if keys_of(atlas, step) - doubtful
        ),
        not_repeated=tuple(_not_repeated(atlas, found)),
        counted_again=sum(len(keys_of(atlas, step) & again.keys()) for step in found),
        open=tuple(
            OpenRange(
                after=commits[first],
                last=commits[last],
                commits=last - first,
                workloads=tuple(names),
            )
            for (first, last), names in sorted(spans.items())
        ),
        skipped=tuple(
            (ref[:10], reason)
            for ref, reason in journal.skipped.items()
            if ref in here - {event.candidate for event in runs}
        ),
        refused=tuple(
            (str(e.candidate)[:10], str(e.workload), str(e.reason))
            for e in atlas.current("refused")
            if e.candidate in here
        ),
        builds=len({event.candidate for event in builds}),
        counts=len(runs),
        build_seconds=round(sum(event.seconds or 0.0 for event in builds), 1),
        count_seconds=round(sum(event.seconds or 0.0 for event in runs), 1),
        machine=request.session.machine.name,
        command=command,
        builds_left=builds_left,
        counts_left=counts_left,
    )


def _change(
    atlas: Atlas, step: AtlasStep, kinds: Mapping[KindKey, str], doubtful: set[KindKey]
) -> CommitChange:
    commits, found = atlas.request.commits, []
    least = min(COUNTED_DIFFERENCE, atlas.question.threshold)
    for one in atlas.request.workloads:
        if one.name not in atlas.cells or (commits[step.last].ref, one.name) in doubtful:
            continue
        before, after = (atlas.count(one.name, at) for at in (step.first - 1, step.last))
        if before is None or after is None:
            continue
        if abs(log(after.instructions / before.instructions)) < least:
            continue
        found.append(
            WorkloadChange(
                workload=one.name,
                family=one.family,
                before=before.instructions,
                after=after.instructions,
                functions=_functions(atlas, before, after),
                kind=kinds.get((commits[step.last].ref, one.name), ""),
                records=(before.record, after.record),
            )
        )
    return CommitChange(
        commit=commits[step.last],
        parent=commits[step.first - 1],
        among=step.last - step.first + 1,
        workloads=tuple(sorted(found, key=lambda one: -abs(log(one.after / one.before)))),
    )


def _not_repeated(atlas: Atlas, found: list[AtlasStep]) -> Iterator[NotRepeated]:
    again = ratios_again(atlas)
    for step in found:
        for ref, name in sorted(not_repeated(atlas, [step])):
            yield NotRepeated(
                commit=atlas.request.commits[step.last],
                workload=name,
                ratio=exp(step.changes[name]),
                again=again[ref, name],
            )


def _functions(atlas: Atlas, before: KnownCount, after: KnownCount) -> tuple[FunctionChange, ...]:
    found = changed_functions(atlas.request.session.paths, before.record, after.record)
    return tuple(FunctionChange(function=one.function, change=round(one.own, 1)) for one in found)
