"""Is this machine fit to measure: what was seen, what it means and how to mend it.

Reads /proc and /sys below a root that tests can point elsewhere; starts no process.
"""

from __future__ import annotations

from collections.abc import Sequence

from base.paths import Paths
from landspeed.doctor.check import Check, State
from landspeed.doctor.kernel import KernelView
from landspeed.doctor.processors import processor_checks
from landspeed.doctor.system import system_checks


def checks(
    paths: Paths, *, vitals: KernelView | None = None, search: str | None = None
) -> list[Check]:
    """All Checks of this machine; *search* is where programs are looked for, $PATH if None."""
    vitals = vitals or KernelView()
    return [*processor_checks(vitals), *system_checks(vitals, paths, search)]


def exit_code(seen: Sequence[Check]) -> int:
    """0, or 1 if a Check failed."""
    return int(any(one.state is State.FAIL for one in seen))


def render(seen: Sequence[Check]) -> str:
    """The Checks as text: a line each, and below what is not ok its meaning and remedy."""
    width = max((len(one.name) for one in seen), default=0)
    lines = []
    for one in seen:
        lines.append(f"{one.state:<5} {one.name:<{width}}  {one.value}")
        if one.state is not State.OK:
            lines += [f"      {one.meaning}"]
            lines += [f"      mend: {one.remedy}"] if one.remedy else []
    counts = ", ".join(f"{sum(one.state is state for one in seen)} {state}" for state in State)
    return "\n".join([*lines, "", counts])
