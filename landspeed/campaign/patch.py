"""The two sides of a patch's comparison: the patch, and the commit that it is based on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from base.build import Build
from base.errors import UsageError
from builders.source import Source
from landspeed.console.markdown import plain
from landspeed.session.session import Session
from landspeed.session.target import Target


@dataclass(frozen=True, kw_only=True)
class Sides:
    """Two targets to compare; ``patch`` says what the second one adds to the first, if known."""

    before: Target
    after: Target
    patch: str = ""


def patched(session: Session, base: Target, patches: Sequence[Path]) -> Sides:
    """Return *base* and the commit of *base* with *patches* applied.

    UsageError if *base* was built elsewhere, SourceError if a patch does not apply.
    """
    source = session.named(base)
    if isinstance(source, Build):
        raise UsageError(f'"{base}" was built elsewhere: it has no source to patch')
    commit = str(session.builder.sources.patched(source, patches).origin.commit)
    names = ", ".join(plain(path.name) for path in patches)
    return Sides(
        before=base,
        after=replace(base, ref=commit),
        patch=f"{commit[:10]} is {names} on {base.ref} ({source.origin.name}).",
    )


def since_merge_base(session: Session, before: Target, after: Target) -> Sides:
    """Return the commit at which *after* left *before*, and *after*.

    Both sides stay as they are if one of them is a release or an ancestor of the other, or if
    they have no history in common.
    """
    sources = session.named(before), session.named(after)
    commits = [
        one.origin.commit
        for one in sources
        if isinstance(one, Source) and one.origin.release is None
    ]
    history, sides = session.builder.sources.history, Sides(before=before, after=after)
    if len(commits) < 2 or not all(commits):
        return sides
    base = history.merge_base(*map(str, commits))
    if base is None or base == commits[1]:
        return sides
    found = history.commit(base)
    said = f"{found.name} ({found.date[:10]}, {plain(found.subject)})"
    if base == commits[0]:
        return replace(sides, patch=f"{after.ref} is based on {said}.")
    patch = (
        f"{after.ref} left {before.ref} at {said}: it is compared with this commit, "
        "with --tips with the tip."
    )
    return replace(sides, before=replace(before, ref=base), patch=patch)
