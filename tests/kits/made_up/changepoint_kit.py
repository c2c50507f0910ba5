"""Made-up changepoints, and the places of their commits in history."""

from __future__ import annotations

from typing import Any

from base.build import Origin, Variant
from builders.source import Position
from landspeed.changepoints.changepoint import Changepoint, ChangepointStatus
from landspeed.results.params import Params
from landspeed.stats.changepoint_online import NoiseModel
from tests.kits.made_up.synthetic_series import commit

HOSTILE = "Fix `x` $(id) | @postgres closes #7 <img src=x> --> \n::error::x"
READ = Params("prepared", "small-5", 1, "default")


def place_of(origin: Origin) -> Position | None:
    """Commits are called by their number; those from 900 on are on no branch any more."""
    number = int((origin.commit or "0")[:10], 16)
    return Position(branch="master", position=number) if number < 900 else None


def subject_of(name: str) -> str:
    return HOSTILE


def origin(number: int) -> Origin:
    return Origin(release=None, commit=commit(number), tree="", date="2026-01-01")


def step(before: int, after: int, ratio: float = 1.01, **changes: Any) -> Changepoint:
    """Return a confirmed changepoint of an exact metric."""
    whole = {
        "machine": "counter",
        "before": origin(before),
        "after": origin(after),
        "seen": origin(after),
        "time": "2026-01-01T00:00:00Z",
        "line": "master",
        "variant": Variant(),
        "mode": "read-only",
        "params": READ,
        "metric": "instructions",
        "levels": (40_000.0, 40_000.0 * ratio),
        "ratio": ratio,
        "interval": (ratio, ratio),
        "p_value": None,
        "basis": NoiseModel.EXACT,
        "digests": ("a", "b"),
        "status": ChangepointStatus.CONFIRMED,
    }
    return Changepoint(**(whole | changes))
