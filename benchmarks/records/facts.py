"""JSON objects as frozen dataclasses: checked when they are read, written as they were read.

A subclass of Facts declares its keys as fields. A field without a default is required; an
optional one whose key is missing has its default. Numbers keep their type: a ``float`` field may
hold an int, so that a record is written byte for byte as it was read. pydantic is not used,
because importing it would double the time that ``landspeed list`` takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from types import NoneType, UnionType
from typing import Any, Self, get_args, get_origin, get_type_hints

from base.errors import RecordError

KEY = "key"
"""The metadata of a field whose key in the JSON object is not its name."""

_Reader = Callable[[Any], Any]


class _WrongError(Exception):
    """A value that is not what its field says, and the keys that lead to it."""

    def __init__(self, expected: str, value: object, *keys: str) -> None:
        super().__init__(expected)
        self.expected, self.value, self.keys = expected, value, keys

    def below(self, key: object) -> _WrongError:
        return _WrongError(self.expected, self.value, str(key), *self.keys)


@dataclass(frozen=True, kw_only=True)
class Facts:
    """A JSON object with known keys; ``unknown`` are those of another version of landspeed."""

    unknown: Mapping[str, Any] = field(default_factory=dict)
    _keys: tuple[str, ...] = field(default=(), repr=False, compare=False)

    @classmethod
    def from_json(cls, facts: object) -> Self:
        """Return the object that *facts* hold; RecordError names a key that is wrong or missing."""
        try:
            return cls._read(facts)
        except _WrongError as wrong:
            key = ".".join(wrong.keys)
            raise RecordError(
                f'the key "{key}" of a raw record is not valid' if key else "not a raw record",
                detail=f"Expected {wrong.expected}, found {wrong.value!r:.100}.",
            ) from None

    @classmethod
    def _read(cls, facts: object) -> Self:
        if not isinstance(facts, dict):
            raise _WrongError("an object", facts)
        known = _readers(cls)
        given: dict[str, Any] = {}
        for key, (name, required, read) in known.items():
            if key not in facts:
                if required:
                    raise _WrongError("a value", None, key)
                continue
            try:
                given[name] = read(facts[key])
            except _WrongError as wrong:
                raise wrong.below(key) from None
        unknown = {key: value for key, value in facts.items() if key not in known}
        return cls(**given, unknown=unknown, _keys=tuple(facts))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object, its keys in the order in which they were read.

        One that was not read has the keys whose values are not None, in the order of the fields.
        """
        names = {key: name for key, (name, _, _) in _readers(type(self)).items()}
        keys = dict.fromkeys(self._keys)
        keys |= dict.fromkeys(key for key, name in names.items() if self._has(name))
        return {
            key: _plain(getattr(self, names[key])) if key in names else self.unknown[key]
            for key in (*keys, *(self.unknown.keys() - keys))
        }

    def _has(self, name: str) -> bool:
        """Whether the field *name* has a value other than the one it has where its key is not."""
        return getattr(self, name) not in (None, (), {})


def _readers(cls: type[Facts]) -> dict[str, tuple[str, bool, _Reader]]:
    """Return each key of *cls* with its field's name, whether it is required, and its reader."""
    if cls not in _known:
        hints = get_type_hints(cls)
        own = [one for one in fields(cls) if one.name not in ("unknown", "_keys")]
        _known[cls] = {
            one.metadata.get(KEY, one.name): (one.name, _required(one), _reader(hints[one.name]))
            for one in own
        }
    return _known[cls]


_known: dict[type, dict[str, tuple[str, bool, _Reader]]] = {}


def _required(one: Field[Any]) -> bool:
    return one.default is MISSING and one.default_factory is MISSING


def _reader(hint: Any) -> _Reader:
    """Return the function that checks a JSON value against the type *hint*, and converts it."""
    kind, arguments = get_origin(hint) or hint, get_args(hint)
    if kind is UnionType:
        options = tuple(one for one in arguments if one is not NoneType)
        read = _scalar(*options) if len(options) > 1 else _reader(options[0])
        return _optional(read) if NoneType in arguments else read
    if kind is dict:
        return _object(_reader(arguments[1]))
    if kind is tuple:
        if arguments[1:] == (...,):
            return _array(_reader(arguments[0]))
        return _row(tuple(map(_reader, arguments)))
    if issubclass(kind, Facts):
        reader: _Reader = kind._read
        return reader
    return _scalar(int, float) if kind is float else _scalar(kind)


def _scalar(*kinds: type) -> _Reader:
    expected = " or ".join({str: "a string", int: "an integer"}.get(k, "a number") for k in kinds)

    def read(value: Any) -> Any:
        if type(value) not in kinds:  # a bool is an int to isinstance
            raise _WrongError(expected, value)
        return value

    return read


def _optional(read: _Reader) -> _Reader:
    return lambda value: None if value is None else read(value)


def _object(read: _Reader) -> _Reader:
    def each(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _WrongError("an object", value)
        found = {}
        for key, one in value.items():
            try:
                found[key] = read(one)
            except _WrongError as wrong:
                raise wrong.below(key) from None
        return found

    return each


def _array(read: _Reader) -> _Reader:
    def each(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            raise _WrongError("an array", value)
        found = []
        for number, one in enumerate(value):
            try:
                found.append(read(one))
            except _WrongError as wrong:
                raise wrong.below(number) from None
        return tuple(found)

    return each


def _row(readers: tuple[_Reader, ...]) -> _Reader:
    def each(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple) or len(value) != len(readers):
            raise _WrongError(f"an array of {len(readers)}", value)
        return tuple(read(one) for read, one in zip(readers, value, strict=True))

    return each


def _plain(value: Any) -> Any:
    if isinstance(value, Facts):
        return value.to_json()
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return value
