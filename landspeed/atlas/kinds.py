"""Say of each commit that a search found what kind of change it is: default, plan or code."""

from __future__ import annotations

from collections.abc import Mapping

from base.build import Build
from base.errors import LandspeedError
from landspeed.atlas.run import Atlas
from landspeed.atlas.search import AtlasStep, steps
from landspeed.bisect.journal import Event
from landspeed.campaign.suite_causes import CauseFinder, ChangePart, cell_key
from landspeed.console.format import change
from landspeed.console.progress import say

KindKey = tuple[str, str]
"""A commit and the name of a workload."""


def kinds_of(atlas: Atlas) -> dict[KindKey, str]:
    """Return the kinds that are known, as text."""
    events = atlas.journal.of("explained")
    return {(str(one.candidate), str(one.workload)): str(one.reason) for one in events}


class KindFinder:
    """Finds the kind of each change of the size asked for, and writes it into the journal.

    A commit is counted again with its parent's defaults and plans where these differ. Steps of
    several commits have no parent to compare with, and when time runs out the rest is left. What
    cannot be found is tried once, and again by the next search.
    """

    def __init__(self) -> None:
        self._tried: set[KindKey] = set()

    def __call__(self, atlas: Atlas) -> None:
        """Find the kinds of *atlas* that are not known yet."""
        done = self._tried | kinds_of(atlas).keys()
        for step in steps(atlas.question, atlas.known()):
            if atlas.is_out_of_time:
                return
            commit = atlas.request.commits[step.last].ref
            due = {name: (commit, name) for name in step.changes if (commit, name) not in done}
            if due and step.first == step.last and atlas.question.is_ours(step.last):
                self._tried |= {*due.values()}
                _find(atlas, step, [*due])


def _find(atlas: Atlas, step: AtlasStep, names: list[str]) -> None:
    ends = (step.first - 1, step.last)
    before, after = (atlas.built(at) for at in ends)
    if not before or not after:
        return
    say(f"finding the kind of the change by {after.label}")
    try:
        found = _parts(atlas, ends, before, after, names)
    except LandspeedError as error:  # the commit is found all the same
        say(str(error))
        return
    for name, parts in found.items():
        atlas.journal.add(
            Event(
                event="explained",
                candidate=atlas.request.commits[step.last].ref,
                workload=name,
                reason=_text(parts),
            )
        )


def _parts(
    atlas: Atlas, ends: tuple[int, int], before: Build, after: Build, names: list[str]
) -> Mapping[str, tuple[ChangePart, ...]]:
    session, cells = atlas.request.session, {name: atlas.cells[name] for name in names}
    old, new = (
        {
            cell_key(cell): session.records.get(found.record)
            for name, cell in cells.items()
            if (found := atlas.count(name, at))
        }
        for at in ends
    )
    finder = CauseFinder(
        session=session,
        pgbench=atlas.pgbench,
        before=before,
        after=after,
        old=old,
        new=new,
        size=atlas.request.size,
    )
    parts = finder.parts([cell for cell in cells.values() if cell_key(cell) in old.keys() & new])
    return {name: parts[key] for name, cell in cells.items() if (key := cell_key(cell)) in parts}


def _text(parts: tuple[ChangePart, ...]) -> str:
    if len(parts) == 1:
        return parts[0].kind.value
    return ", ".join(f"{part.kind.value} {change(part.ratio)}" for part in parts)
