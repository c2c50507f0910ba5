"""A check of this machine and its outcome."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import partial


class State(StrEnum):
    """Outcome of a check; only ``fail`` prevents measuring."""

    OK = "ok"
    NOTE = "note"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, kw_only=True)
class Check:
    """One property of this machine: the value seen, what it means, how to fix it."""

    name: str = ""
    state: State
    value: str
    meaning: str = ""
    remedy: str = ""

    def facts(self) -> dict[str, str]:
        """Return the check as JSON can hold it."""
        return asdict(self)


def named(outcomes: Mapping[str, Check]) -> list[Check]:
    """Return *outcomes* with their names set."""
    return [replace(one, name=name) for name, one in outcomes.items()]


def ok(value: str) -> Check:
    """Return a check that found nothing to fix."""
    return Check(state=State.OK, value=value)


def _found(
    state: State, value: str, meaning: str, remedy: str = "", *, unless: bool = False
) -> Check:
    """Return a check that found something, or one that is ok *unless* it did."""
    return ok(value) if unless else Check(state=state, value=value, meaning=meaning, remedy=remedy)


note = partial(_found, State.NOTE)
"""Something to know, and perhaps to fix."""
warn = partial(_found, State.WARN)
"""Something that makes results worse."""
fail = partial(_found, State.FAIL)
"""Something that prevents measuring."""


def not_shown() -> Check:
    """Return a check of something that this kernel or container hides."""
    return note("not shown", "This kernel or container does not show it.")
