"""The Toolchain: a compiler of a Debian release, a row of docker/toolchains.toml."""

from __future__ import annotations

import re
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path

from base.errors import UsageError
from base.files import canonical_json, digest_text

DIRECTORY = Path(__file__).resolve().parents[2] / "docker"
_DEBIAN = re.compile(r"[a-z]+")
_COMPILER = re.compile(r"(gcc|clang)-[0-9]+")


@dataclass(frozen=True, kw_only=True)
class Toolchain:
    """The compiler ``cc`` of one release of Debian: ``bookworm-gcc-12``."""

    debian: str
    cc: str

    @property
    def name(self) -> str:
        """What --toolchain calls it."""
        return f"{self.debian}-{self.cc}"

    @property
    def compiler(self) -> str:
        """The compiler's plain name, which its image has it under too: gcc or clang."""
        return self.cc.partition("-")[0]

    @property
    def base_image(self) -> str:
        """The image that its own is made from."""
        return f"debian:{self.debian}-slim"

    def image(self, dockerfile: str) -> str:
        """Return the tag of its image: a hash over *dockerfile*, a text, and this row."""
        content = digest_text(canonical_json({"dockerfile": dockerfile, "row": asdict(self)}))
        return f"landspeed-builder:{self.name}-{content[:12]}"


def load_toolchains(path: Path | None = None) -> tuple[Toolchain, ...]:
    """Return the toolchains in *path* (docker/toolchains.toml); the first is the default."""
    path = path or DIRECTORY / "toolchains.toml"
    try:
        rows = tomllib.loads(path.read_text())["toolchain"]
        toolchains = tuple(_row(row) for row in rows)
        if not toolchains:
            raise ValueError("there is none")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f'the toolchains in "{path}" cannot be read',
            detail=f"{type(error).__name__}: {error}",
            hint='Each [[toolchain]] has a debian and a cc, like "bookworm" and "gcc-12".',
        ) from error
    return toolchains


def toolchain_named(name: str | None) -> Toolchain:
    """Return the toolchain called *name*, the default for None; UsageError if there is none."""
    toolchains = load_toolchains()
    if name is None:
        return toolchains[0]
    for toolchain in toolchains:
        if toolchain.name == name:
            return toolchain
    raise UsageError(
        f'toolchain "{name}" does not exist',
        detail=f"Known are {', '.join(t.name for t in toolchains)}.",
        hint="A new one is two lines in docker/toolchains.toml.",
    )


def _row(row: dict[str, str]) -> Toolchain:
    toolchain = Toolchain(**row)
    if not _DEBIAN.fullmatch(toolchain.debian):
        raise ValueError(f'"{toolchain.debian}" is not a release of Debian')
    if not _COMPILER.fullmatch(toolchain.cc):
        raise ValueError(f'"{toolchain.cc}" is not spelled like gcc-12 or clang-14')
    return toolchain
