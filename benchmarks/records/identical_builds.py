"""Identical builds: commits whose builds install the same files share their samples.

A commit whose server is measured already gets no new runs. A note says instead that the two are
one server. Like records, notes are only ever added, and merged by copying files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, PlainSerializer

from base.build import AnyVariant, Origin

SERVER_COLUMNS = ["digest", "release", "commit", "tree", "origin_date", "registered"]
"""The columns of RecordStore.table() that identify the server of a run and its origin."""

Origins = Mapping[str, Mapping[str, Origin]]
"""Origins by name, by the digest that their builds share; each inner mapping is one server."""


@dataclass(frozen=True, kw_only=True)
class IdenticalBuild:
    """An origin whose build has the ``digest`` of a measured one."""

    digest: Annotated[str, Field(pattern="^[0-9A-Za-z]{1,64}$")]
    origin: Origin


@dataclass(frozen=True, kw_only=True)
class FailedBuild:
    """What did not build, with the ``message`` of the error; ``time`` is in ISO 8601, UTC."""

    origin: Origin
    variant: Annotated[AnyVariant, PlainSerializer(str)]
    time: str = ""
    message: str = ""
