"""What a search over many workloads is asked, and its journal."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from base.build import Variant
from base.errors import RefError, UsageError
from base.files import canonical_json, digest_text
from benchmarks.counted.valgrind import count_epoch
from benchmarks.workloads.catalog import Workload
from builders.incremental_tree import APART
from landspeed.bisect.commit_range import CommitRange, commit_range
from landspeed.bisect.journal import ATLAS, Journal
from landspeed.session.session import Session
from landspeed.session.target import Target


@dataclass(frozen=True, kw_only=True)
class AtlasRequest:
    """Which commits and workloads, and the ``size`` of the changes looked for, as a share.

    ``commits`` are those that change what is installed, out of ``span`` commits. Points of the
    grid are at most ``spacing`` of them apart. ``budget`` is the time in seconds for one
    invocation. Of several machines that search at once each has a ``share``: the positions of its
    first and its last commit.
    """

    session: Session
    commits: CommitRange
    span: int
    variant: Variant
    workloads: tuple[Workload, ...]
    size: float
    spacing: int
    budget: float
    share: tuple[int, int] | None = None

    @classmethod
    def between(
        cls,
        session: Session,
        ends: tuple[Target, Target],
        workloads: Sequence[Workload],
        *,
        size: float,
        spacing: int,
        budget: float,
        share: tuple[str, str] | None = None,
    ) -> AtlasRequest:
        """Return the request for the commits between *ends*; of a *share*, two commits, if any.

        UsageError if they are no commits of the range, or no commit changes the server; RefError
        if the first end is not on the line of first parents of the second.
        """
        sources, refs = session.builder.sources, [end.ref for end in ends]
        commits, every = commit_range(sources, *refs, apart=APART), commit_range(sources, *refs)
        parent = sources.history.latest(every[1].ref, 2)[0]
        if parent.hash != every[0].ref:
            raise RefError(
                "GOOD is on a branch that was merged on the way to BAD",
                detail=f"A commit is compared with its first parent; {every[1].name}'s is "
                f"{parent.name}, not {every[0].name}.",
                hint=f"Give {parent.name} as GOOD, or a commit before it.",
            )
        if not commits.last:
            raise UsageError(
                "no commit between GOOD and BAD changes the server",
                detail="Documentation, tests, contrib and client programs are no part of it.",
                hint="Choose ends that are farther apart.",
            )
        return cls(
            session=session,
            commits=commits,
            span=every.last,
            variant=ends[0].variant,
            workloads=tuple(workloads),
            size=size,
            spacing=spacing,
            budget=budget,
            share=share and _positions(commits, share),
        )

    def journal(
        self, *, fresh: bool = False, alone: bool = True
    ) -> AbstractContextManager[Journal]:
        """Open the journal, for this process *alone* unless it only reads.

        It is about commits of one variant on one machine, so that any other search, of a longer
        range or a finer grid, continues it. That of a share is a new file, beside those of the
        other shares.
        """
        part = "" if self.share is None else uuid4().hex[:8]
        session = self.session
        inputs: dict[str, Any] = {
            "variant": self.variant.name,
            "toolchain": digest_text(
                canonical_json(session.builder.sandbox.toolchain(self.variant))
            ),
            "machine": session.machine.name,
            "epoch": count_epoch().identifier,
        }
        return Journal.open(
            session.paths.results / ATLAS, ATLAS, inputs, fresh=fresh, part=part, alone=alone
        )


def _positions(commits: CommitRange, share: tuple[str, str]) -> tuple[int, int]:
    first, last = (commits.positions.get(ref, -1) for ref in share)
    if not 0 <= first <= last:
        raise UsageError(
            f"there is no share {'..'.join(share)} between GOOD and BAD",
            hint="Take one that --dry-run --machines prints, with the same GOOD and BAD.",
        )
    return first, last
