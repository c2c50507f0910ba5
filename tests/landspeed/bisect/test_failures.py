"""What a bisection does when something fails that may work the next time."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from click.testing import CliRunner, Result

from base.errors import (
    BuildError,
    BuildInterruptedError,
    LandspeedError,
    MeasureError,
    SourceError,
)
from landspeed.cli.bisect import bisect_
from tests.kits.made_up.bisect_project import MadeUp, Pretence, facts, pretend

LAST, CULPRIT, MIDDLE = 8, 6, 4
OFFLINE = SourceError("git read-tree failed", detail="could not resolve host")


def bisect(
    made: MadeUp,
    monkeypatch: pytest.MonkeyPatch,
    failing: dict[int, LandspeedError],
    *words: str,
    crashing: Sequence[int] = (),
) -> Result:
    """Count the commits 0 … LAST; the builds of those in *failing* end with its errors."""
    pretence = Pretence(steps={str(CULPRIT): 1.01}, crashing=crashing, failing=failing)
    pretend(pretence, monkeypatch.setattr)
    ends = made.commits[0], made.commits[LAST]
    return CliRunner().invoke(bisect_, [*ends, "--metric", "instructions", "--json", *words])


@pytest.mark.parametrize("error", [OFFLINE, BuildInterruptedError("could not build commit 4")])
def test_a_commit_whose_source_or_build_fails_for_now_is_tried_again(made, monkeypatch, error):
    assert bisect(made, monkeypatch, {MIDDLE: error}).exception is error
    found = facts(bisect(made, monkeypatch, {}))
    assert found["culprit"]["ref"] == made.commits[CULPRIT]
    assert found["skipped"] == []


def test_a_commit_that_does_not_build_is_skipped(made, monkeypatch):
    failing = {MIDDLE: BuildError("commit 4 does not compile")}
    found = facts(bisect(made, monkeypatch, failing))
    assert found["culprit"]["ref"] == made.commits[CULPRIT]
    assert [row["position"] for row in found["skipped"]] == [MIDDLE]


def test_a_culprit_known_by_earlier_counts_alone_that_cannot_be_counted_now_is_an_error(
    made, monkeypatch
):
    bisect(made, monkeypatch, {})
    error = bisect(made, monkeypatch, {}, "--fresh", crashing=[CULPRIT]).exception
    assert isinstance(error, MeasureError)
    assert error.message.endswith("cannot be measured")
    assert "died under pgbench" in error.detail
