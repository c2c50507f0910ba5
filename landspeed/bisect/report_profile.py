"""Where the cost of a counted culprit went: the profiles kept with its count and its parent's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.counted.count import kept_profile
from landspeed.bisect.model import Culprit
from landspeed.bisect.run import BisectResult
from landspeed.console.markdown import markdown_table
from landspeed.profiling.diff import Cost, costs, whole_functions

_TOP = 10
# Less than a thousandth of an instruction is rounding.
_LEAST = 0.001


def explanation(bisected: BisectResult) -> str | None:
    """The functions that differ most, as Markdown; None of what is timed, or without profiles."""
    decision = bisected.conclusion.decision
    if not isinstance(decision, Culprit) or not bisected.case.quest.is_exact:
        return None
    paths = bisected.case.session.paths
    records = [_record(bisected, position) for position in (decision.first - 1, decision.last)]
    profiles = [kept_profile(paths, record) for record in records if record]
    before, after = (*profiles, None, None)[:2]
    if before is None or after is None:
        return None
    return cost_table(costs(whole_functions(before), whole_functions(after)))


def _record(bisected: BisectResult, position: int) -> str | None:
    line = bisected.case.line
    alike = {line[at].ref for at in bisected.conclusion.evidence.alike(position)}
    events: list[dict[str, Any]] = bisected.journal.of("run")
    found = (event.get("record") for event in events if event["candidate"] in alike)
    return next(found, None)


def cost_table(found: Sequence[Cost]) -> str:
    """The largest of *found*, instructions per transaction before and after, as Markdown."""
    shown = [cost for cost in found if abs(cost.own) >= _LEAST]
    rows = [
        (f"`{one.function}`", f"{one.own_before:.1f}", f"{one.own_after:.1f}", f"{one.own:+.1f}")
        for one in shown[:_TOP]
    ]
    rest = sum(cost.own for cost in shown[_TOP:])
    rows.append((f"{len(shown[_TOP:])} others", "", "", f"{rest:+.1f}"))
    table = markdown_table(("function", "before", "after", "change"), rows, align="lr")
    return f"Instructions per transaction that a function executes itself:\n\n{table}"
