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

from base.errors import UsageError
from landspeed.compare.side import Side
from landspeed.compare.verdict import Verdict
from landspeed.console.progress import say

LAYOUTS = ("align1", "align32", "align64", "align128")
"""The flags of variants that move code; without one gcc aligns functions to 16 bytes on x86-64."""

NEEDED = 4
"""How many of five layouts must show a change that is not one of layout."""

_CHANGES = (Verdict.FASTER, Verdict.SLOWER)


@dataclass(frozen=True, kw_only=True)
class LayoutCheck:
    """The verdicts of the same comparison in several layouts; the first is the one to be checked.

    Checking ends as soon as the answer is known.
    """

    verdicts: tuple[Verdict, ...]

    @property
    def kept(self) -> int:
        """How many layouts have the verdict of the first."""
        return self.verdicts.count(self.verdicts[0])

    @property
    def is_known(self) -> bool:
        """Whether more layouts could not change the answer."""
        lost = len(self.verdicts) - self.kept
        return self.kept >= NEEDED or lost > len(LAYOUTS) + 1 - NEEDED

    def __str__(self) -> str:
        found = f"{self.verdicts[0]} in {self.kept} of {len(self.verdicts)} layouts of the code: "
        if self.kept >= NEEDED:
            return f"{found}the change is not one of layout."
        return f"{found}the change is one of layout, not of what the code does."

    def facts(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "verdicts": dict(zip(("default", *LAYOUTS), self.verdicts, strict=False)),
            "kept": self.kept,
            "is_layout": self.kept < NEEDED,
        }


def require_layouts(sides: Sequence[Side], *, counted: bool) -> None:
    """Raise UsageError unless *sides* are two servers that can be built in other layouts."""
    if counted:
        raise UsageError(
            "--layouts needs a timed metric",
            detail="Where functions lie in memory does not change how many instructions they have.",
        )
    if len(sides) != 2:
        raise UsageError("--layouts needs two sides")
    for side in sides:
        if side.target.registered is not None or set(LAYOUTS) & set(side.target.variant.flags):
            raise UsageError(f"{side} cannot be built in other layouts")


def in_layout(side: Side, flag: str) -> Side:
    """Return *side*, built with *flag* as well."""
    variant = side.target.variant
    moved = replace(variant, flags=(*variant.flags, flag))
    return replace(side, target=replace(side.target, variant=moved))


def check_layouts(first: Verdict, compare_in: Callable[[str], Verdict]) -> LayoutCheck | None:
    """Return what becomes of the verdict *first* in other layouts; None where it is no change.

    *compare_in* compares the sides built with one of LAYOUTS.
    """
    if first not in _CHANGES:
        return None
    check = LayoutCheck(verdicts=(first,))
    for flag in LAYOUTS:
        if check.is_known:
            break
        say(f"once more, both sides built with {flag}")
        check = LayoutCheck(verdicts=(*check.verdicts, compare_in(flag)))
    return check
