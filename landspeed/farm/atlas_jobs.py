"""A search over many workloads as the jobs of atlas.yml: a matrix, read with ``fromJSON``."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from base.errors import UsageError
from landspeed.atlas.run import Atlas
from landspeed.atlas.shares import shares
from landspeed.farm.acceptance import shorten
from landspeed.session.target import Target

_MOST_COMMITS = 8000
"""The most commits in a plan, which a variable of the environment has to hold (128 KiB)."""


@dataclass(frozen=True, kw_only=True)
class ShareJob:
    """A job that counts commits of its ``share``, FIRST..LAST, and no others."""

    name: str
    share: str


@dataclass(frozen=True, kw_only=True)
class AtlasJobs:
    """The jobs of atlas.yml; the names of the fields are the names of the outputs it reads.

    ``good``, ``bad``: The ends as commits, which a branch that moves on does not change.
    ``counter``: The name of the machine that counts are stored under.
    ``shares``: What each job counts.
    ``assigned``: What each job may hand in, by the name of its artifact: see Assigned.
    """

    good: str
    bad: str
    counter: str
    shares: tuple[ShareJob, ...]
    assigned: dict[str, dict[str, object]]

    @classmethod
    def of(cls, atlas: Atlas, ends: tuple[Target, Target], most: int) -> AtlasJobs:
        """Return at most so many jobs, which carry out what *atlas* has left to do.

        UsageError if the range has more commits than a plan can hold.
        """
        request, commits = atlas.request, atlas.request.commits
        if commits.last > _MOST_COMMITS:
            raise UsageError(
                f"a search that several machines share has at most {_MOST_COMMITS:,} commits",
                detail=f"{commits.last:,} commits between GOOD and BAD change the server.",
                hint="Search the range in parts, such as a release's cycle each.",
            )
        sources, counter = request.session.builder.sources, request.session.machine.name
        found, assigned = [], dict[str, dict[str, object]]()
        for number, (first, last) in enumerate(shares(atlas.question, atlas.known(), most), 1):
            share = f"{commits[first].ref}..{commits[last].ref}"
            found.append(ShareJob(name=str(number), share=share))
            refs = [shorten(commits[at].ref) for at in range(first, last + 1)]
            assigned[f"results-atlas-{number}"] = {"machine": counter, "refs": refs}
        good, bad = (
            str(Target(ref=str(sources.resolve(end.ref).origin.commit), variant=end.variant))
            for end in ends
        )
        return cls(good=good, bad=bad, counter=counter, shares=tuple(found), assigned=assigned)

    def facts(self) -> dict[str, object]:
        """Return the outputs as JSON can hold them, the matrix with its number of jobs."""
        return asdict(self) | {"shares_count": len(self.shares)}
