"""What is known of an interval without building: which commits edited the functions that differ."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from base.paths import Paths
from builders.source.history import History
from landspeed.atlas.prior import edit_weights
from landspeed.atlas.search import LevelInterval
from landspeed.bisect.commit_range import CommitRange
from landspeed.profiling.diff import changed_functions

_FUNCTIONS = 10
_NESTED = re.compile(r"'\d+$")  # callgrind's mark of a recursive call


@dataclass(frozen=True, kw_only=True)
class EditPrior:
    """The prior of a search, from the profiles of counts and the edits of ``commits``.

    ``record_of`` returns the record of a series' count at a position, by its id.
    """

    commits: CommitRange
    history: History
    paths: Paths
    record_of: Callable[[str, int], str]
    _known: dict[tuple[str, int, int], Mapping[int, float]] = field(default_factory=dict)

    @cached_property
    def edited(self) -> Mapping[int, frozenset[str]]:
        """The functions that each commit edited, by its position."""
        commits = self.commits
        found = self.history.edited(commits[0].ref, commits[commits.last].ref)
        return {at: found[ref] for ref, at in commits.positions.items() if ref in found}

    def __call__(self, interval: LevelInterval) -> Mapping[int, float]:
        """Return how likely each commit changed the level of *interval*, by what it edited."""
        key = interval.series, interval.first, interval.last
        if key not in self._known:
            before, after = (self.record_of(interval.series, at) for at in key[1:])
            costs = changed_functions(self.paths, before, after, most=_FUNCTIONS)
            changes: dict[str, float] = defaultdict(float)
            for cost in costs:
                changes[_NESTED.sub("", cost.function)] += cost.own
            changes = {name: change for name, change in changes.items() if change}
            self._known[key] = edit_weights(changes, self.edited)
        return self._known[key]
