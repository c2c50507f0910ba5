"""A Variant, and a Build: the install prefix where builders and benchmarks meet."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from base.errors import StorageError, VariantError
from base.version import Version

BUILD_JSON = "BUILD.json"
BLOCK_SIZES = (1, 2, 4, 8, 16, 32)
WAL_BLOCK_SIZES = (1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True, kw_only=True, order=True)
class Variant:
    """A Variant is a named difference from the default build; sizes in kB.

    Its name is ``bs8`` for the default, ``bs4`` for 4 kB blocks, ``bs8-wal16``
    for 16 kB WAL blocks.
    """

    blocksize: int = 8
    wal_blocksize: int = 8

    def __post_init__(self) -> None:
        _check("block size", self.blocksize, BLOCK_SIZES)
        _check("WAL block size", self.wal_blocksize, WAL_BLOCK_SIZES)

    @classmethod
    def parse(cls, name: str) -> Self:
        """The Variant called *name* (``bs4``, ``bs8-wal16``, ``wal16``); VariantError if none."""
        sizes: dict[str, int] = {}
        for part in name.split("-"):
            key = part.rstrip("0123456789")
            if key not in ("bs", "wal") or key in sizes or not part[len(key) :]:
                raise VariantError(
                    f'"{name}" is not a build variant',
                    hint="Variants are spelled like bs4, bs8-wal16 or wal16 (sizes in kB).",
                )
            sizes[key] = int(part[len(key) :])
        return cls(blocksize=sizes.get("bs", 8), wal_blocksize=sizes.get("wal", 8))

    @property
    def name(self) -> str:
        """The short stable name used everywhere."""
        wal = f"-wal{self.wal_blocksize}" if self.wal_blocksize != 8 else ""
        return f"bs{self.blocksize}{wal}"

    def __str__(self) -> str:
        return self.name


def _check(what: str, size: int, allowed: tuple[int, ...]) -> None:
    if size not in allowed:
        raise VariantError(
            f"invalid {what}: {size} kB",
            detail=f"PostgreSQL can be built with {what}s of {', '.join(map(str, allowed))} kB.",
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
class Foreign:
    """A Foreign is a server that somebody else built: where, as its pg_config says, its parts are.

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
    foreign: Foreign | None = None

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
                variant=Variant(**facts["variant"]),
                build_system=facts["build_system"],
                quirks=tuple(facts["quirks"]),
                toolchain=facts["toolchain"],
                digest=facts["digest"],
                cpu_seconds=facts["cpu_seconds"],
                foreign=Foreign(**facts["foreign"]) if facts.get("foreign") else None,
            )
        except (OSError, ValueError, KeyError, TypeError, VariantError) as error:
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
