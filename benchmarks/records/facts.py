"""JSON objects as frozen dataclasses: checked when they are read, written as they were read.

A subclass of Facts declares its keys as fields. A field without a default is required; an
optional one whose key is missing has its default. Numbers keep their type: a ``float`` field may
hold an int, so that a record is written byte for byte as it was read. pydantic is not used,
because importing it would double the time that ``landspeed list`` takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import partial
from types import NoneType, UnionType
from typing import Any, Self, get_args, get_origin, get_type_hints

from base.errors import RecordError

KEY = "key"
"""The metadata of a field whose key in the JSON object is not its name."""

_Reader = Callable[[Any, tuple[str, ...]], Any]
"""A function that checks and converts a JSON value; its keys in the object are for errors."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """A JSON object with known keys; ``unknown`` are those of another version of landspeed."""

    unknown: Mapping[str, Any] = field(default_factory=dict)
    _keys: tuple[str, ...] = field(default=(), repr=False, compare=False)

    @classmethod
    def from_json(cls, facts: object) -> Self:
        """Return the object that *facts* hold; RecordError names a key that is wrong or missing."""
        return cls._read(facts, ())

    @classmethod
    def _read(cls, facts: object, keys: tuple[str, ...]) -> Self:
        if not isinstance(facts, dict):
            raise _wrong("an object", facts, keys)
        known = _readers(cls)
        given: dict[str, Any] = {}
        for key, (name, required, read) in known.items():
            if key in facts:
                given[name] = read(facts[key], (*keys, key))
            elif required:
                raise _wrong("a value", None, (*keys, key))
        unknown = {key: value for key, value in facts.items() if key not in known}
        return cls(**given, unknown=unknown, _keys=tuple(facts))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object, its keys in the order in which they were read.

        One that was not read has the keys whose values are not None, in the order of the fields.
        """
        names = {key: name for key, (name, _, _) in _readers(type(self)).items()}
        # what a field has where its key is not
        given = (k for k, name in names.items() if getattr(self, name) not in (None, (), {}))
        keys = dict.fromkeys((*self._keys, *given, *self.unknown))
        return {
            key: _plain(getattr(self, names[key])) if key in names else self.unknown[key]
            for key in keys
        }


def _wrong(expected: str, value: object, keys: tuple[str, ...]) -> RecordError:
    key = ".".join(keys)
    return RecordError(
        f'the key "{key}" of a raw record is not valid' if key else "not a raw record",
        detail=f"Expected {expected}, found {value!r:.100}.",
    )


_known: dict[type, dict[str, tuple[str, bool, _Reader]]] = {}


def _readers(cls: type[Facts]) -> dict[str, tuple[str, bool, _Reader]]:
    """Return each key of *cls* with its field's name, whether it is required, and its reader."""
    if cls not in _known:
        hints = get_type_hints(cls)
        _known[cls] = {
            one.metadata.get(KEY, one.name): (
                one.name,
                one.default is MISSING and one.default_factory is MISSING,
                _reader(hints[one.name]),
            )
            for one in fields(cls)
            if one.name not in ("unknown", "_keys")
        }
    return _known[cls]


def _reader(hint: Any) -> _Reader:
    kind, arguments = get_origin(hint) or hint, get_args(hint)
    if kind is UnionType:
        options = tuple(one for one in arguments if one is not NoneType)
        read = _scalar(*options) if len(options) > 1 else _reader(options[0])
        return partial(_optional, read) if NoneType in arguments else read
    if kind is dict:
        return partial(_object, _reader(arguments[1]))
    if kind is tuple:
        is_array = arguments[1:] == (...,)
        readers = tuple(_reader(one) for one in arguments if one is not ...)
        return partial(_array, readers[0]) if is_array else partial(_row, readers)
    if issubclass(kind, Facts):
        reader: _Reader = kind._read
        return reader
    return _scalar(int, float) if kind is float else _scalar(kind)


def _scalar(*kinds: type) -> _Reader:
    expected = " or ".join({str: "a string", int: "an integer"}.get(k, "a number") for k in kinds)

    def read(value: Any, keys: tuple[str, ...]) -> Any:
        if type(value) not in kinds:  # a bool is an int to isinstance
            raise _wrong(expected, value, keys)
        return value

    return read


def _optional(read: _Reader, value: Any, keys: tuple[str, ...]) -> Any:
    return None if value is None else read(value, keys)


def _object(read: _Reader, value: Any, keys: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong("an object", value, keys)
    return {key: read(one, (*keys, key)) for key, one in value.items()}


def _array(read: _Reader, value: Any, keys: tuple[str, ...]) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise _wrong("an array", value, keys)
    return tuple([read(one, (*keys, str(number))) for number, one in enumerate(value)])


def _row(readers: tuple[_Reader, ...], value: Any, keys: tuple[str, ...]) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple) or len(value) != len(readers):
        raise _wrong(f"an array of {len(readers)}", value, keys)
    return tuple(read(one, keys) for read, one in zip(readers, value, strict=True))


def _plain(value: Any) -> Any:
    if isinstance(value, Facts):
        return value.to_json()
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return value
