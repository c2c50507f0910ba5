"""Whether a change of speed is one of layout: the same comparison with the code placed otherwise.

Where functions lie in memory decides how they share cache lines and entries of the branch
predictor, so unrelated code can make a server some percent slower or faster (T. Mytkowicz et al.,
"Producing wrong data without doing anything obviously wrong!", ASPLOS 2009). A change that is the
code's own survives when both sides are built with functions aligned to other addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from base.build import ALIGNMENTS
from base.errors import UsageError
from landspeed.compare.side import Side
from landspeed.compare.verdict import Verdict
from landspeed.console.progress import say

NEEDED = 4
"""How many of five layouts must show a change that is not one of layout."""

_ANSWERS = {
    False: "the change is not one of layout.",
    True: "the change is one of layout, not of what the code does.",
    None: "too few verdicts to tell whether the change is one of layout; give --budget more time.",
}


@dataclass(frozen=True, kw_only=True)
class LayoutCheck:
    """The verdicts of the same comparison in several layouts; the first is the one to be checked.

    The first layout is the usual one: gcc aligns functions to 16 bytes on x86-64.
    """

    verdicts: tuple[Verdict, ...]

    @property
    def kept(self) -> int:
        """How many layouts have the verdict of the first."""
        return self.verdicts.count(self.verdicts[0])

    @property
    def is_layout(self) -> bool | None:
        """Whether the change is one of layout; None while that is not known.

        A layout without a verdict speaks for neither.
        """
        if self.kept >= NEEDED:
            return False
        others = len(self.verdicts) - self.kept - self.verdicts.count(Verdict.UNDECIDED)
        return True if others > len(ALIGNMENTS) + 1 - NEEDED else None

    def __str__(self) -> str:
        counted = f"{self.verdicts[0]} in {self.kept} of {len(self.verdicts)} layouts of the code"
        return f"{counted}: {_ANSWERS[self.is_layout]}"

    def facts(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "verdicts": dict(zip(("default", *ALIGNMENTS), self.verdicts, strict=False)),
            "kept": self.kept,
            "is_layout": self.is_layout,
        }


def require_layouts(sides: Sequence[Side], *, counted: bool) -> None:
    """Raise UsageError unless *sides* are two servers that can be built in other layouts."""
    if counted:
        raise UsageError(
            "--layouts needs a timed metric",
            detail="Where functions lie in memory does not change how many instructions they have.",
        )
    if len(sides) != 2:
        raise UsageError("--layouts needs two sides", hint="Compare the others by themselves.")
    for side in sides:
        if side.target.registered is not None or set(ALIGNMENTS) & set(side.target.variant.flags):
            raise UsageError(
                f"{side} cannot be built in other layouts",
                hint="Name a server that is built here, without a flag that aligns functions.",
            )


def in_layout(side: Side, flag: str) -> Side:
    """Return *side*, built with *flag* as well."""
    variant = side.target.variant
    moved = replace(variant, flags=(*variant.flags, flag))
    return replace(side, target=replace(side.target, variant=moved))


def check_layouts(first: Verdict, compare_in: Callable[[str], Verdict]) -> LayoutCheck | None:
    """Return what becomes of the verdict *first* in other layouts; None where it is no change.

    *compare_in* compares the sides built with one of ALIGNMENTS.
    """
    if first not in (Verdict.FASTER, Verdict.SLOWER):
        return None
    check = LayoutCheck(verdicts=(first,))
    for flag in ALIGNMENTS:
        if check.is_layout is not None:
            break
        say(f"once more, both sides built with {flag}")
        check = LayoutCheck(verdicts=(*check.verdicts, compare_in(flag)))
    return check
