"""What machines have left to measure, as the plan of a farm notes it beside the records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from base.paths import MACHINE


@dataclass(frozen=True, kw_only=True)
class Queue:
    """What ``machine`` had left to measure at ``time`` (ISO 8601, UTC).

    ``targets``: The targets of the next run, as REF:VARIANT, in the order they are measured.
    ``due``: The number of all targets, those of later runs too.
    """

    machine: Annotated[str, Field(pattern=f"^{MACHINE}$")]
    time: str
    targets: tuple[str, ...]
    due: int
