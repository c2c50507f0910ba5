"""A search over many workloads as the jobs of atlas.yml: a matrix, read with ``fromJSON``."""

from __future__ import annotations

from typing import Any

from base.errors import UsageError
from landspeed.atlas.repeat import chunks_again
from landspeed.atlas.run import Atlas
from landspeed.atlas.shares import shares
from landspeed.farm.acceptance import shorten
from landspeed.session.target import Target

_MOST_COMMITS = 8000
"""The most commits in a plan, which a variable of the environment has to hold (128 KiB)."""


def atlas_outputs(atlas: Atlas, ends: tuple[Target, Target], most: int) -> dict[str, Any]:
    """Return the outputs that atlas.yml reads: at most so many jobs, for what *atlas* has left.

    UsageError if the range has more commits than a plan can hold.

    ``good``, ``bad``: The ends as commits, which a branch that moves on does not change.
    ``counter``: The name of the machine that counts are stored under.
    ``shares``: Jobs that each count commits of their ``share``, FIRST..LAST, and no others.
    ``assigned``: What each job may hand in, by the name of its artifact: see Assigned.
    """
    request, commits = atlas.request, atlas.request.commits
    if commits.last > _MOST_COMMITS:
        raise UsageError(
            f"a search that several machines share has at most {_MOST_COMMITS:,} commits",
            detail=f"{commits.last:,} commits between GOOD and BAD change the server.",
            hint="Search the range in parts, such as a release's cycle each.",
        )
    sources, counter = request.session.builder.sources, request.session.machine.name
    found, assigned = [], {}
    known = atlas.known()
    left = shares(atlas.question, known, most, chunks_again(atlas, known))
    for number, (first, last) in enumerate(left, 1):
        share = f"{commits[first].ref}..{commits[last].ref}"
        found.append({"name": str(number), "share": share})
        # The parent too: the first commit is counted a second time beside it if it changed a cost.
        refs = [shorten(commits[at].ref) for at in range(max(0, first - 1), last + 1)]
        assigned[f"results-atlas-{number}"] = {"machine": counter, "refs": refs}
    good, bad = (
        str(Target(ref=str(sources.resolve(end.ref).origin.commit), variant=end.variant))
        for end in ends
    )
    return {
        "good": good,
        "bad": bad,
        "counter": counter,
        "shares": found,
        "assigned": assigned,
        "shares_count": len(found),
    }
