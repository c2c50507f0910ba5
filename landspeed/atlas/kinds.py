"""Say of each commit that a search found what kind of change it is: default, plan or code."""

from __future__ import annotations

from collections.abc import Mapping

from base.build import Build
from base.errors import LandspeedError
from landspeed.atlas.repeat import KindKey, count_again, keys_of, not_repeated, ratios_again
from landspeed.atlas.run import Atlas
from landspeed.atlas.search import AtlasStep, steps
from landspeed.bisect.journal import Event
from landspeed.campaign.suite_causes import CauseFinder, ChangePart, cell_key
from landspeed.console.format import change
from landspeed.console.progress import say


def kinds_of(atlas: Atlas) -> dict[KindKey, str]:
    """Return the kinds that are known, as text."""
    events = atlas.current("explained")
    return {(str(one.candidate), str(one.workload)): str(one.reason) for one in events}


def find_kinds(atlas: Atlas) -> None:
    """Count each change that *atlas* has found a second time, and find its kind.

    Both are written into the journal. What is not there a second time gets no kind. To find one,
    the commit is counted with its parent's defaults and plans where these differ. Steps of several
    commits have no parent to compare with. When time runs out the rest is left. What fails is tried
    again by the next search.
    """
    for step in steps(atlas.question, atlas.known()):
        if atlas.is_out_of_time:
            return
        if step.first == step.last and atlas.question.is_ours(step.last):
            _look(atlas, step)


def _look(atlas: Atlas, step: AtlasStep) -> None:
    keys = keys_of(atlas, step) - atlas.looked_at
    again = {name for _, name in keys - ratios_again(atlas).keys()}
    if not again and not _due(atlas, step, keys):
        return
    before, after = (atlas.built(at) for at in (step.first - 1, step.last))
    if not before or not after:
        return
    if again:
        count_again(atlas, before, after, sorted(again))
    if atlas.is_out_of_time:
        return
    if due := _due(atlas, step, keys):
        _find(atlas, step, before, after, sorted(name for _, name in due))
    atlas.looked_at |= keys


def _due(atlas: Atlas, step: AtlasStep, keys: set[KindKey]) -> set[KindKey]:
    return keys - kinds_of(atlas).keys() - not_repeated(atlas, [step])


def _find(atlas: Atlas, step: AtlasStep, before: Build, after: Build, names: list[str]) -> None:
    say(f"finding the kind of the change by {after.label}")
    try:
        found = _parts(atlas, (step.first - 1, step.last), before, after, names)
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
                definition=atlas.definition(name),
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
