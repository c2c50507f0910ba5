"""The errors that landspeed shows a person, in PostgreSQL's style, with one exit code each.

The message says what failed, ``detail`` what was seen, ``hint`` what to do.
"""

from __future__ import annotations

from collections.abc import Sequence


class LandspeedError(Exception):
    """A failure with a message, a detail, a hint and an exit code."""

    exit_code = 1

    def __init__(self, message: str, *, detail: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail
        self.hint = hint

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """Return the ``error:``, ``detail:`` and ``hint:`` lines, continuation lines indented."""
        parts = [("error", self.message), ("detail", self.detail), ("hint", self.hint)]
        return [
            f"{label}:{' ' * (8 - len(label) - 1)}" + text.replace("\n", "\n        ")
            for label, text in parts
            if text
        ]


def reason(error: BaseException) -> str:
    """Return what *error* says, in one line; of our own errors the detail."""
    if isinstance(error, LandspeedError):
        return (error.detail or error.message).splitlines()[0]
    return f"{type(error).__name__}: {error}".splitlines()[0][:300]


class UsageError(LandspeedError):
    """The command line or a configuration file asks for something that cannot be."""

    exit_code = 2


class RefError(LandspeedError):
    """A REF names no release or commit that is known, or more than one."""

    exit_code = 3


class VariantError(LandspeedError):
    """A build variant that PostgreSQL does not have."""

    exit_code = 4


class SourceError(LandspeedError):
    """A source cannot be reached, or is not what the catalog says it is."""

    exit_code = 5


class BuildError(LandspeedError):
    """A build step failed; the detail names the tree, the log and its last lines."""

    exit_code = 6


class BuildInterruptedError(BuildError):
    """A build ran out of disk or memory, or was killed: the source may well build."""


class StorageError(LandspeedError):
    """A directory cannot be written: full, read-only or not ours."""

    exit_code = 7


class ClusterError(LandspeedError):
    """A cluster did not initialise, start or stop, or died."""

    exit_code = 8


class MeasureError(LandspeedError):
    """A pgbench run failed or its output cannot be understood."""

    exit_code = 9


class BusyError(LandspeedError):
    """Another landspeed holds what this one needs."""

    exit_code = 10


class PublishError(LandspeedError):
    """The site could not be published; the old one, if any, is untouched."""

    exit_code = 11


class RecordError(LandspeedError):
    """A raw record or segment cannot be read or written."""

    exit_code = 12


class NotApplicableError(LandspeedError):
    """A cell cannot run on this machine; the detail says why."""

    exit_code = 13


class RemoteError(LandspeedError):
    """A service of others (the remote of the results, GitHub's API) refused or did not answer."""

    exit_code = 14


class SlowerError(LandspeedError):
    """A workload became slower by more than was allowed."""

    exit_code = 15


_MOST_MESSAGES = 10


def last_lines(text: str, count: int = 10) -> str:
    """Return the last *count* lines of *text*, for the detail of an error."""
    return "\n".join(text.strip().splitlines()[-count:])


def some_failed(
    messages: Sequence[str], tried: int, noun: str, kind: type[LandspeedError] = MeasureError
) -> LandspeedError | None:
    """Return the error of a command that went on after failures; None without *messages*.

    *messages* has one entry for each failure among the *tried* things called *noun* (plural).
    """
    if not messages:
        return None
    return kind(
        f"{len(messages)} of {tried} {noun} failed, the others are done",
        detail="\n".join(list(dict.fromkeys(messages))[:_MOST_MESSAGES]),
        hint="Fix the cause and repeat the command: it does only what is missing.",
    )


def raise_if(error: LandspeedError | None) -> None:
    """Raise *error*, unless it is None."""
    if error is not None:
        raise error
