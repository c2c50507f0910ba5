"""Where the cost of a counted culprit went: the profiles kept with its count and its parent's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.counted.count import kept_profile
from landspeed.bisect.model import Culprit
from landspeed.bisect.run import BisectResult
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
    lines = [
        "Instructions per transaction that a function executes itself:",
        "",
        "| function | before | after | change |",
        "|---|---:|---:|---:|",
    ]
    shown = [cost for cost in found if abs(cost.own) >= _LEAST]
    for cost in shown[:_TOP]:
        before, after = f"{cost.own_before:.1f}", f"{cost.own_after:.1f}"
        lines.append(f"| `{cost.function}` | {before} | {after} | {cost.own:+.1f} |")
    rest = sum(cost.own for cost in shown[_TOP:])
    lines.append(f"| {len(shown[_TOP:])} others | | | {rest:+.1f} |")
    return "\n".join(lines)
