"""A Variant, and a Build: the install prefix where builders and benchmarks meet."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from base.errors import StorageError, VariantError
from base.version import Version

BUILD_JSON = "BUILD.json"
BLOCK_SIZES = (1, 2, 4, 8, 16, 32)
WAL_BLOCK_SIZES = (1, 2, 4, 8, 16, 32, 64)
# PostgreSQL takes any number of GB, and recommends a power of two. Sizes beyond these do not fit
# the 31 bits that the server counts a segment's blocks of 1 kB in.
SEGMENT_SIZES = tuple(2**power for power in range(11))
_SIZE = re.compile("(bs|wal|seg)([0-9]+)")
_SIZE_KEYS = {"bs": "blocksize", "wal": "wal_blocksize", "seg": "segsize"}
_DEFAULT = "default"


class Compiler(StrEnum):
    """A Compiler is what a Build is compiled by, under its plain name."""

    GCC = "gcc"
    CLANG = "clang"


class Flag(StrEnum):
    """A Flag is a way to optimise that the default, ``-O2``, is not; what each means is data.

    The table is ``recipes.toml``. They are named, and given to a compiler, in this order.
    """

    O3 = "O3"
    NATIVE = "native"
    LTO = "lto"


# What the default is called where a person wants to say it.
_NO_FLAG = "O2"


@dataclass(frozen=True, kw_only=True, order=True)
class Variant:
    """A Variant is a named difference from the default build; blocks in kB, segments in GB.

    Its name is ``bs8`` for the default, ``bs4`` for 4 kB blocks, ``bs8-wal16`` for 16 kB WAL
    blocks, ``bs8-seg2``, ``bs8-clang``, ``bs8-O3-native-lto``; always in this order.
    """

    blocksize: int = 8
    wal_blocksize: int = 8
    segsize: int = 1
    compiler: Compiler = Compiler.GCC
    flags: tuple[Flag, ...] = ()

    def __post_init__(self) -> None:
        _check("block size", self.blocksize, BLOCK_SIZES, "kB")
        _check("WAL block size", self.wal_blocksize, WAL_BLOCK_SIZES, "kB")
        _check("segment size", self.segsize, SEGMENT_SIZES, "GB")
        object.__setattr__(self, "flags", tuple(flag for flag in Flag if flag in self.flags))

    @classmethod
    def parse(cls, name: str) -> Self:
        """The Variant called *name* (``bs4``, ``bs8-wal16``, ``wal16``); VariantError if none.

        Parts may come in any order, and those that are left out are the default's.
        """
        given: dict[str, Any] = {}
        flags: list[str] = []
        for part in name.split("-"):
            size = _SIZE.fullmatch(part)
            key = _SIZE_KEYS[size[1]] if size else "compiler"
            if not size and part not in list(Compiler):
                flags.append(part)
                continue
            if key in given:
                raise _no_variant(name)
            given[key] = int(size[2]) if size else Compiler(part)
        try:
            return cls(**given, flags=parse_flags(flags))
        except ValueError:
            raise _no_variant(name) from None

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Self:
        """The Variant that *facts* tell: the inverse of ``facts``.

        What they leave out, or have None for, is the default's: older landspeeds knew fewer keys.
        VariantError, TypeError or ValueError for what is none.
        """
        given = {key: value for key, value in facts.items() if value is not None}
        flags = given.pop("flags", "")
        if "compiler" in given:
            given["compiler"] = Compiler(given["compiler"])
        return cls(**given, flags=parse_flags(flags.split("-") if flags else ()))

    def facts(self) -> dict[str, Any]:
        """The Variant as JSON can hold it: both block sizes, and of the rest what is not default.

        So the facts of a Variant, which Builds are known by, stay when there are new keys.
        """
        facts: dict[str, Any] = {"blocksize": self.blocksize, "wal_blocksize": self.wal_blocksize}
        if self.segsize != 1:
            facts["segsize"] = self.segsize
        if self.compiler is not Compiler.GCC:
            facts["compiler"] = self.compiler.value
        if self.flags:
            facts["flags"] = "-".join(self.flags)
        return facts

    @classmethod
    def from_axes(cls, axes: Mapping[str, str]) -> Self:
        """The Variant at *axes*, the inverse of ``axes``; VariantError if there is none."""
        blocksize, wal, rest = (axes.get(n) for n in ("blocksize", "wal_blocksize", "build"))
        parts = [f"bs{blocksize or 8}", f"wal{wal or 8}"]
        return cls.parse("-".join(parts if rest in (None, _DEFAULT) else [*parts, str(rest)]))

    def axes(self) -> dict[str, str]:
        """What asv and its site tell Variants apart by: both block sizes, and the rest of the name.

        A rest of nothing is "default".
        """
        return {
            "blocksize": str(self.blocksize),
            "wal_blocksize": str(self.wal_blocksize),
            "build": "-".join(self._rest) or _DEFAULT,
        }

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of its name: the block size, and what is not the default's."""
        wal = () if self.wal_blocksize == 8 else (f"wal{self.wal_blocksize}",)
        return (f"bs{self.blocksize}", *wal, *self._rest)

    @property
    def _rest(self) -> tuple[str, ...]:
        segment = () if self.segsize == 1 else (f"seg{self.segsize}",)
        compiler = () if self.compiler is Compiler.GCC else (self.compiler.value,)
        return (*segment, *compiler, *(flag.value for flag in self.flags))

    @property
    def name(self) -> str:
        """The short stable name used everywhere."""
        return "-".join(self.parts)

    def __str__(self) -> str:
        return self.name


def parse_flags(words: Iterable[str]) -> tuple[Flag, ...]:
    """The Flags that *words* spell, "O2" being none; ValueError for what is no Flag, or twice."""
    given = list(words)
    levels = [word for word in given if word in (_NO_FLAG, Flag.O3)]
    if len(set(given)) < len(given) or len(levels) > 1:
        raise ValueError("a flag is given twice")
    return tuple(Flag(word) for word in given if word != _NO_FLAG)


def _no_variant(name: str) -> VariantError:
    return VariantError(
        f'"{name}" is not a build variant',
        hint="Variants are spelled like bs4, bs8-wal16 (block sizes in kB), bs8-seg2 (segments in "
        "GB), bs8-clang, bs8-O3, bs8-native, bs8-lto, or several of it in this order.",
    )


def _check(what: str, size: int, allowed: tuple[int, ...], unit: str) -> None:
    if size not in allowed:
        raise VariantError(
            f"invalid {what}: {size} {unit}",
            detail=f"PostgreSQL is built with {what}s of {', '.join(map(str, allowed))} {unit}.",
            hint=f"Choose a {what} that is one of these powers of two.",
        )


@dataclass(frozen=True, kw_only=True)
class Origin:
    """An Origin is where a source tree came from: a release or a commit, and its git tree.

    ``date`` is ISO 8601 (the release day, or the commit's committer time). What somebody else
    built has a name it is ``registered`` under instead, an empty tree, and its program's date.
    """

    release: str | None
    commit: str | None
    tree: str
    date: str
    registered: str | None = None

    @property
    def name(self) -> str:
        """How people call it: ``17.11``, a commit's first ten digits, or ``@name``."""
        if self.registered is not None:
            return f"@{self.registered}"
        return self.release or (self.commit or self.tree)[:10]


@dataclass(frozen=True, kw_only=True)
class ExternalServer:
    """A ExternalServer is a server that somebody else built: where, as its pg_config says, its parts are.

    ``said`` is the version in that program's own words.
    """

    pg_config: str
    bindir: str
    libdir: str
    pkglibdir: str
    sharedir: str
    said: str


@dataclass(frozen=True, kw_only=True)
class Build:
    """A Build is an install prefix proven by its ``BUILD.json``.

    ``identifier`` names it in the store; ``digest`` is a sha256 over every
    installed file: two Builds with one digest are the same server. Of what is ``foreign``
    the prefix holds the proof alone, the server stays where it is.
    """

    prefix: Path
    identifier: str
    version: Version
    origin: Origin
    variant: Variant
    build_system: str
    quirks: tuple[str, ...]
    toolchain: dict[str, str]
    digest: str
    cpu_seconds: float
    foreign: ExternalServer | None = None

    @classmethod
    def load(cls, prefix: Path) -> Self:
        """The Build at *prefix*; StorageError if there is no proof of one."""
        path = prefix / BUILD_JSON
        try:
            facts = json.loads(path.read_text())
            return cls(
                prefix=prefix,
                identifier=facts["identifier"],
                version=Version.parse(facts["version"]),
                origin=Origin(**facts["origin"]),
                variant=Variant.of(facts["variant"]),
                build_system=facts["build_system"],
                quirks=tuple(facts["quirks"]),
                toolchain=facts["toolchain"],
                digest=facts["digest"],
                cpu_seconds=facts["cpu_seconds"],
                foreign=ExternalServer(**facts["foreign"]) if facts.get("foreign") else None,
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError, VariantError) as error:
            raise StorageError(
                f'"{prefix}" is not a build',
                detail=f"{path}: {error}",
                hint='Build it with "landspeed build REF".',
            ) from error

    def facts(self) -> dict[str, Any]:
        """Everything but the prefix, as JSON can hold it."""
        facts = asdict(self)
        del facts["prefix"]
        facts["version"] = str(self.version)
        facts["variant"] = self.variant.facts()
        facts["quirks"] = list(self.quirks)
        return facts

    @property
    def label(self) -> str:
        """How people call it: ``18.6 bs4``."""
        return f"{self.origin.name} {self.variant}"

    def program(self, name: str) -> Path:
        """The path of an installed program."""
        directory = Path(self.foreign.bindir) if self.foreign else self.prefix / "bin"
        return directory / name

    def environment(self) -> dict[str, str]:
        """What its programs need to run from this prefix (the compiled-in one is not used)."""
        libraries = self.foreign.libdir if self.foreign else str(self.prefix / "lib")
        return {"LD_LIBRARY_PATH": libraries, "LC_ALL": "C", "TZ": "UTC"}
