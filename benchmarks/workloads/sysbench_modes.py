"""Oltps: what a transaction does where sysbench is the client, by scripts of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from base.errors import UsageError
from base.files import canonical_json, digest_text

SYSBENCH = "sysbench"
# One table, as pgbench has one that grows. A row and its two index entries are 265 bytes,
# measured on 15 to 18: so many are the 15 MB of a unit of pgbench's scale.
ROWS_PER_SCALE = 55_000
# As pgbench draws its accounts; sysbench's own would draw three in four from 1 % of the rows.
OPTIONS = ("--rand-type=uniform", "--tables=1")
SYSBENCH_SCRIPTS: Mapping[str, bool] = {
    "oltp-point-select": False,
    "oltp-read-only": False,
    "oltp-update-index": True,
    "oltp-update-non-index": True,
    "oltp-read-write": True,
}
"""The scripts of sysbench's that can be asked for, and whether they change data."""

_DIGITS = 8


@dataclass(frozen=True, kw_only=True)
class SysbenchMode:
    """One of the scripts that come with sysbench, run by sysbench of one ``version``.

    The version is empty where sysbench is not installed. sysbench loads its own tables.
    """

    name: str
    version: str

    load: ClassVar[str] = ""
    size: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        if self.name not in SYSBENCH_SCRIPTS:
            raise UsageError(
                f'"{self.name}" is no script of sysbench',
                hint=f"There are: {', '.join(SYSBENCH_SCRIPTS)}.",
            )

    @property
    def value(self) -> str:
        """What records and points call it: its name, and a digest of who asks it, and how."""
        content = canonical_json([self.name, self.data, *OPTIONS])
        return f"{self.name}-{digest_text(content)[:_DIGITS]}"

    @property
    def data(self) -> str:
        """What tells its tables from those of other modes at the same scale."""
        return f"{SYSBENCH} {self.version}, {ROWS_PER_SCALE} rows"

    @property
    def writes(self) -> bool:
        """Whether it changes data, so that every Run needs its own copy of it."""
        return SYSBENCH_SCRIPTS[self.name]

    @property
    def script(self) -> str:
        """What sysbench calls it."""
        return self.name.replace("-", "_")

    def __str__(self) -> str:
        return self.value
