"""Typed contents of files, checked by pydantic when they are read: TOML tables and JSON."""

from __future__ import annotations

import tomllib
from collections.abc import Set
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    PlainSerializer,
    PlainValidator,
    TypeAdapter,
    ValidationError,
)

from base.errors import UsageError
from base.version import Version, VersionRange

AnyVersion = Annotated[Version, PlainValidator(Version.parse), PlainSerializer(str)]
"""A version that files have as its text."""


class Row(BaseModel):
    """A row of a table; a key that it does not know is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class RangedRow(Row):
    """A row for the versions from ``since`` to before ``until``."""

    since: AnyVersion | None = None
    until: AnyVersion | None = None

    @property
    def versions(self) -> VersionRange:
        """The versions that it is for."""
        return VersionRange(since=self.since, until=self.until)


_Row = TypeVar("_Row", bound=Row)
_Kind = TypeVar("_Kind")
_adapters: dict[type, TypeAdapter[Any]] = {}


def _adapter(kind: type) -> TypeAdapter[Any]:
    if kind not in _adapters:
        _adapters[kind] = TypeAdapter(kind)
    return _adapters[kind]


def from_json(kind: type[_Kind], value: object) -> _Kind:
    """Return the *kind* that *value*, parsed JSON, holds; ValueError if it holds none."""
    found: _Kind = _adapter(kind).validate_python(value)
    return found


def to_json(value: object, *, leave_out: Set[str] = frozenset()) -> dict[str, Any]:
    """Return *value* as a JSON object, without the fields *leave_out*."""
    kind = _adapter(type(value))
    return dict(kind.dump_python(value, mode="json", by_alias=True, exclude={*leave_out}))


def read_rows(path: Path, key: str, kind: type[_Row], hint: str) -> tuple[_Row, ...]:
    """Return the tables ``[[key]]`` of the TOML file at *path*, at least one; UsageError."""
    try:
        rows = tuple(map(kind.model_validate, tomllib.loads(path.read_text()).get(key, ())))
        if not rows:
            raise ValueError(f"there is no [[{key}]]")
    except (OSError, TypeError, ValueError) as error:
        seen = problem(error) if isinstance(error, ValidationError) else str(error)
        raise UsageError(f'"{path}" cannot be read', detail=seen, hint=hint) from error
    return rows


def problem(error: ValidationError) -> str:
    """Say what the first problem of *error* is."""
    first = error.errors()[0]
    key = ".".join(map(str, first["loc"]))
    match first["type"]:
        case "extra_forbidden":
            return f"unknown key {key}"
        case "value_error":
            return str(first["ctx"]["error"])
        case _:
            return f"{key} cannot be {first['input']!r}: {first['msg']}"
