"""How a client sends its queries."""

from __future__ import annotations

from enum import StrEnum


class Protocol(StrEnum):
    """How a client sends its queries (pgbench's ``-M``)."""

    SIMPLE = "simple"
    EXTENDED = "extended"
    PREPARED = "prepared"
