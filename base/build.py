"""Variants, and builds: the install prefixes where builders and benchmarks meet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, PlainSerializer, PlainValidator

from base.errors import StorageError, VariantError
from base.files import read_json
from base.typed import AnyVersion, from_json, to_json

BUILD_JSON = "BUILD.json"
BLOCK_SIZES = (1, 2, 4, 8, 16, 32)
WAL_BLOCK_SIZES = (1, 2, 4, 8, 16, 32, 64)
# PostgreSQL accepts any number of GB and recommends powers of two. Larger segments overflow the
# 31 bits in which the server counts a segment's blocks of 1 kB.
SEGMENT_SIZES = tuple(2**power for power in range(11))
ALIGNMENTS = ("align1", "align32", "align64", "align128")
"""Other places for the code: functions aligned to so many bytes. A variant has one at most."""

FLAGS = ("O3", "native", "lto", *ALIGNMENTS)
"""What differs from a build with ``-O2``, in the order in which names list them.

``recipes.toml`` says what each one means to a compiler.
"""
_NO_FLAG = "O2"  # how a person may spell the default
_SIZE = re.compile("(bs|wal|seg)([0-9]{1,9})")
_SIZE_KEYS = {"bs": "blocksize", "wal": "wal_blocksize", "seg": "segsize"}
_DEFAULT = "default"


class Compiler(StrEnum):
    """The compiler of a build, by its plain name."""

    GCC = "gcc"
    CLANG = "clang"


@dataclass(frozen=True, kw_only=True, order=True)
class Variant:
    """Compile-time choices of a build; block sizes in kB, segment size in GB.

    Its name is ``bs8`` for the default, ``bs4`` for 4 kB blocks, ``bs8-wal16`` for 16 kB WAL
    blocks, ``bs8-seg2``, ``bs8-clang``, ``bs8-O3-native-lto``; the order is fixed.
    """

    blocksize: int = 8
    wal_blocksize: int = 8
    segsize: int = 1
    compiler: Compiler = Compiler.GCC
    flags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check("block size", self.blocksize, BLOCK_SIZES, "kB")
        _check("WAL block size", self.wal_blocksize, WAL_BLOCK_SIZES, "kB")
        _check("segment size", self.segsize, SEGMENT_SIZES, "GB")
        object.__setattr__(self, "flags", parse_flags(self.flags))

    @classmethod
    def parse(cls, name: str) -> Self:
        """Return the variant called *name* (``bs4``, ``bs8-wal16``, ``wal16``).

        Parts may come in any order; a part that is left out has its default. Raises VariantError.
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
            return cls(**given, flags=tuple(flags))
        except ValueError:
            raise _no_variant(name) from None

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Self:
        """Return the variant that *facts* describe: the inverse of ``facts``.

        A key that is missing or None has its default, because older versions of landspeed knew
        fewer keys. Raises VariantError, TypeError or ValueError.
        """
        given = {key: value for key, value in facts.items() if value is not None}
        flags = given.pop("flags", "")
        if "compiler" in given:
            given["compiler"] = Compiler(given["compiler"])
        return cls(**given, flags=tuple(flags.split("-") if flags else ()))

    def facts(self) -> dict[str, Any]:
        """Return the variant as JSON: both block sizes, and of the rest what is not the default.

        Builds are identified by these facts, so a new key must not appear in those of a variant
        that does not use it.
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
        """Return the variant at *axes*: the inverse of ``axes``. Raises VariantError."""
        blocksize, wal, rest = (axes.get(n) for n in ("blocksize", "wal_blocksize", "build"))
        parts = [f"bs{blocksize or 8}", f"wal{wal or 8}"]
        return cls.parse("-".join(parts if rest in (None, _DEFAULT) else [*parts, str(rest)]))

    def axes(self) -> dict[str, str]:
        """Return the axes by which asv and its site tell variants apart.

        They are both block sizes and the rest of the name, "default" if there is no rest.
        """
        return {
            "blocksize": str(self.blocksize),
            "wal_blocksize": str(self.wal_blocksize),
            "build": "-".join(self._rest) or _DEFAULT,
        }

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the name: the block size, and whatever is not the default."""
        wal = () if self.wal_blocksize == 8 else (f"wal{self.wal_blocksize}",)
        return (f"bs{self.blocksize}", *wal, *self._rest)

    @property
    def _rest(self) -> tuple[str, ...]:
        segment = () if self.segsize == 1 else (f"seg{self.segsize}",)
        compiler = () if self.compiler is Compiler.GCC else (self.compiler.value,)
        return (*segment, *compiler, *self.flags)

    @property
    def name(self) -> str:
        """The short stable name used everywhere."""
        return "-".join(self.parts)

    def __str__(self) -> str:
        return self.name


def parse_flags(words: Iterable[str]) -> tuple[str, ...]:
    """Return the FLAGS in *words*, where "O2" stands for none, in their fixed order.

    Raises ValueError for an unknown flag, and for a flag, a level or an alignment that is given
    twice.
    """
    given = list(words)
    unknown = set(given) - {*FLAGS, _NO_FLAG}
    twice = len(set(given)) < len(given) or len({*given} & {*ALIGNMENTS}) > 1
    if unknown or twice or {_NO_FLAG, "O3"} <= set(given):
        raise ValueError(f'"{"-".join(map(str, given))}" are not flags of a build variant')
    return tuple(flag for flag in FLAGS if flag in given)


def _no_variant(name: str) -> VariantError:
    return VariantError(
        f'"{name}" is not a build variant',
        hint="Variants are spelled like bs4, bs8-wal16 (block sizes in kB), bs8-seg2 (segments in "
        "GB), bs8-clang, bs8-O3, bs8-native, bs8-lto, bs8-align64, or several of these in this "
        "order.",
    )


def _check(what: str, size: int, allowed: tuple[int, ...], unit: str) -> None:
    if size not in allowed:
        raise VariantError(
            f"invalid {what}: {size} {unit}",
            detail=f"PostgreSQL can be built with a {what} of {', '.join(map(str, allowed))} "
            f"{unit}.",
            hint=f"Choose a {what} from this list.",
        )


def _variant(value: Variant | str | Mapping[str, Any]) -> Variant:
    if isinstance(value, Variant):
        return value
    return Variant.parse(value) if isinstance(value, str) else Variant.of(value)


AnyVariant = Annotated[Variant, PlainValidator(_variant), PlainSerializer(Variant.facts)]
"""A variant that files have as its facts or by its name."""


def _iso_date(text: str) -> str:
    datetime.fromisoformat(text)
    return text


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where a source tree came from: a release or a commit, with its git tree hash.

    ``date`` is in ISO 8601: the day of the release or the committer time of the commit. A server
    that landspeed did not build has a ``registered`` name, an empty ``tree``, and the time of its
    program file as its date.
    """

    release: Annotated[str, Field(pattern="^[0-9a-z.]{1,20}$")] | None
    commit: Annotated[str, Field(pattern="^[0-9A-Za-z]{1,64}$")] | None
    tree: Annotated[str, Field(pattern="^[0-9A-Za-z.]{0,64}$")]
    date: Annotated[str, AfterValidator(_iso_date)]
    registered: Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}$")] | None = None

    @property
    def name(self) -> str:
        """Its name for people: ``17.11``, the first ten digits of a commit, or ``@name``."""
        if self.registered is not None:
            return f"@{self.registered}"
        return self.release or (self.commit or self.tree)[:10]

    @property
    def ref(self) -> str:
        """Its name that never changes: the release, else the full hash of the commit."""
        return self.release or self.commit or self.name


@dataclass(frozen=True, kw_only=True)
class ExternalServer:
    """A server that landspeed did not build: its directories according to its pg_config.

    ``said`` is the version in pg_config's own words.
    """

    pg_config: str
    bindir: str
    libdir: str
    pkglibdir: str
    sharedir: str
    said: str


@dataclass(frozen=True, kw_only=True)
class Build:
    """An install prefix with its ``BUILD.json``.

    ``identifier`` names it in the store. ``digest`` is a sha256 over every installed file, so two
    builds with the same digest are the same server. The prefix of an ``external`` server holds
    only the ``BUILD.json``; the server itself stays where it is.
    """

    prefix: Path
    identifier: str
    version: AnyVersion
    origin: Origin
    variant: AnyVariant
    build_system: str
    quirks: tuple[str, ...]
    toolchain: dict[str, str]
    digest: str
    cpu_seconds: float
    external: Annotated[ExternalServer | None, Field(alias="foreign")] = None

    @classmethod
    def load(cls, prefix: Path) -> Self:
        """Read the build at *prefix*; raises StorageError if its BUILD.json is missing or bad."""
        path = prefix / BUILD_JSON
        try:
            facts = read_json(path)
            return replace(from_json(cls, {"prefix": prefix, **facts}), prefix=prefix)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, VariantError) as error:
            raise StorageError(
                f'"{prefix}" is not a build',
                detail=f"{path}: {error}",
                hint='Build it with "landspeed build REF".',
            ) from error

    def facts(self) -> dict[str, Any]:
        """Return everything but the prefix as JSON; ``external`` has the key ``foreign`` there."""
        return to_json(self, leave_out={"prefix"})

    @property
    def label(self) -> str:
        """Its name for people: ``18.6 bs4``."""
        return f"{self.origin.name} {self.variant}"

    def program(self, name: str) -> Path:
        """Return the path of the installed program *name*."""
        directory = Path(self.external.bindir) if self.external else self.prefix / "bin"
        return directory / name

    def environment(self) -> dict[str, str]:
        """Return the environment in which its programs find this prefix's libraries.

        The libraries may be anybody's: no program of ours may have it, least of all one that takes
        privileges away.
        """
        libraries = self.external.libdir if self.external else str(self.prefix / "lib")
        return {"LD_LIBRARY_PATH": libraries, "LC_ALL": "C", "TZ": "UTC"}
