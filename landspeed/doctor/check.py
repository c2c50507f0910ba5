"""A Check: one thing about this machine, and how it came out."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum


class State(StrEnum):
    """A State says how a Check came out; only ``fail`` stands in the way of measuring."""

    OK = "ok"
    NOTE = "note"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, kw_only=True)
class Check:
    """A Check is one thing about this machine: the value seen, what it means, how to mend it."""

    name: str
    state: State
    value: str
    meaning: str = ""
    remedy: str = ""

    def facts(self) -> dict[str, str]:
        """The Check as JSON can hold it."""
        return asdict(self)


def ok(name: str, value: str) -> Check:
    """A Check that found nothing to mend."""
    return Check(name=name, state=State.OK, value=value)


def note(name: str, value: str, meaning: str, remedy: str = "") -> Check:
    """A Check that found something to know, and perhaps to mend."""
    return Check(name=name, state=State.NOTE, value=value, meaning=meaning, remedy=remedy)


def warn(name: str, value: str, meaning: str, remedy: str) -> Check:
    """A Check that found what makes numbers worse."""
    return Check(name=name, state=State.WARN, value=value, meaning=meaning, remedy=remedy)


def fail(name: str, value: str, meaning: str, remedy: str) -> Check:
    """A Check that found what stands in the way of measuring."""
    return Check(name=name, state=State.FAIL, value=value, meaning=meaning, remedy=remedy)


def unseen(name: str) -> Check:
    """A Check of what cannot be seen from here."""
    return note(name, "not shown", "This kernel or container does not show it.")
