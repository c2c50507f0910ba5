"""Run all checks of this machine and render their outcomes. Starts no process."""

from __future__ import annotations

from collections.abc import Sequence

from base.paths import Paths
from landspeed.doctor.check import Check, State
from landspeed.doctor.kernel import Kernel
from landspeed.doctor.processors import processor_checks
from landspeed.doctor.system import system_checks


def checks(paths: Paths, *, kernel: Kernel | None = None, search: str | None = None) -> list[Check]:
    """Run all checks; look for programs in *search*, or in $PATH if it is None."""
    kernel = kernel or Kernel()
    return [*processor_checks(kernel), *system_checks(kernel, paths, search)]


def exit_code(seen: Sequence[Check]) -> int:
    """Return 1 if a check failed, else 0."""
    return int(any(one.state is State.FAIL for one in seen))


def render(seen: Sequence[Check]) -> str:
    """Return the checks as text: a line each; where one is not ok also its meaning and fix."""
    width = max((len(one.name) for one in seen), default=0)
    lines = []
    for one in seen:
        lines.append(f"{one.state:<5} {one.name:<{width}}  {one.value}")
        if one.state is not State.OK:
            lines += [f"      {one.meaning}"]
            lines += [f"      fix: {one.remedy}"] if one.remedy else []
    counts = ", ".join(f"{sum(one.state is state for one in seen)} {state}" for state in State)
    return "\n".join([*lines, "", counts])
