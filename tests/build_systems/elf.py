"""What a compiler and a linker made of a server, read from the program itself.

A program says more than the flags that somebody believes it was compiled with: code that is
position-independent, another optimisation, another compiler all leave other sections and functions
of other sizes. The format is the System V ABI's (https://refspecs.linuxfoundation.org/elf/gabi4+/),
of 64 bits and little-endian, which all machines have that servers are measured on.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from base.errors import StorageError

MAGIC = b"\x7fELF"
_CLASS_64_LITTLE = b"\x02\x01"
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMBOL_TABLE = 2  # SHT_SYMTAB
_OBJECT, _FUNCTION = 1, 2  # STT_OBJECT, STT_FUNC


@dataclass(frozen=True, kw_only=True)
class Program:
    """What an ELF file tells of itself, in bytes.

    ``functions`` and ``objects`` (tables, variables, constants) count how often one of a name and
    a size is there: names of what is static are not unique.
    """

    sections: Mapping[str, int]
    functions: Counter[tuple[str, int]]
    objects: Counter[tuple[str, int]]

    @classmethod
    def read(cls, path: Path) -> Self:
        """The Program at *path*; StorageError if it is none that we can read."""
        try:
            raw = path.read_bytes()
            if not raw.startswith(MAGIC + _CLASS_64_LITTLE):
                raise ValueError("not ELF of 64 bits, little-endian")
            sections = list(_sections(raw))
            return cls(
                sections={name: size for name, _, _, size, _ in sections},
                functions=Counter(_symbols(raw, sections, _FUNCTION)),
                objects=Counter(_symbols(raw, sections, _OBJECT)),
            )
        except (OSError, ValueError, struct.error, IndexError) as error:
            raise StorageError(
                f'"{path}" cannot be read as a program', detail=str(error)
            ) from error


_Section = tuple[str, int, int, int, int]
"""A section's name, type, place in the file, size, and the number of the section it refers to."""


def _sections(raw: bytes) -> Iterator[_Section]:
    header = _HEADER.unpack_from(raw)
    place, count, names = header[6], header[12], header[13]
    rows = [_SECTION.unpack_from(raw, place + i * _SECTION.size) for i in range(count)]
    texts = rows[names][4]
    for row in rows:
        yield _text(raw, texts + row[0]), row[1], row[4], row[5], row[6]


def _symbols(raw: bytes, sections: list[_Section], kind_wanted: int) -> Iterator[tuple[str, int]]:
    for _, kind, place, size, link in sections:
        if kind != _SYMBOL_TABLE:
            continue
        texts = sections[link][2]
        for name, info, _, _, _, length in _SYMBOL.iter_unpack(raw[place : place + size]):
            if info & 0xF == kind_wanted and length:
                yield _text(raw, texts + name), length


def _text(raw: bytes, place: int) -> str:
    return raw[place : raw.index(b"\0", place)].decode(errors="replace")
