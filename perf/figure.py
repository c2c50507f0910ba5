"""A measured number, printed as a line of JSON."""

from __future__ import annotations

import json
import resource
from dataclasses import asdict, dataclass


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One measured number with its unit and its goal.

    ``goal`` is the bound it should keep (``"<= 0.85"``), ``beside`` what else was measured in
    the same run.
    """

    figure: str
    value: float
    unit: str
    goal: str = ""
    beside: str = ""

    def show(self) -> None:
        """Print it as one line."""
        facts = {name: value for name, value in asdict(self).items() if value != ""}
        print(json.dumps(facts, ensure_ascii=False), flush=True)


def cpu_seconds() -> float:
    """User and system seconds of this process and of its children that have ended."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
