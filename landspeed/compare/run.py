"""Carry out a comparison, whether its metric is timed or counted."""

from __future__ import annotations

from landspeed.compare.counted import compare_counted
from landspeed.compare.plan import ComparePlan, CompareState
from landspeed.compare.timed import compare_timed
from landspeed.session.session import Session


def compare(session: Session, plan: ComparePlan, *, fresh: bool = False) -> CompareState:
    """Carry out *plan*, using what is recorded of it unless *fresh*.

    UsageError if the budget is too small to begin; MeasureError if a server fails.
    """
    carry_out = compare_counted if plan.metric.exact else compare_timed
    return carry_out(session, plan, fresh=fresh)
