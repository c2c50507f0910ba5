"""The Toolchain: a compiler of a Debian release, a row of docker/toolchains.toml."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from base.errors import UsageError
from base.files import canonical_json, digest_text
from base.typed import Row, read_rows

DIRECTORY = Path(__file__).resolve().parents[2] / "docker"


class Toolchain(Row):
    """The compiler ``cc`` of one release of Debian: ``bookworm-gcc-12``."""

    debian: str = Field(pattern="^[a-z]+$")
    cc: str = Field(pattern="^(gcc|clang)-[0-9]+$")

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
        content = digest_text(canonical_json({"dockerfile": dockerfile, "row": self.model_dump()}))
        return f"landspeed-builder:{self.name}-{content[:12]}"


def load_toolchains(path: Path | None = None) -> tuple[Toolchain, ...]:
    """Return the toolchains in *path* (docker/toolchains.toml); the first is the default."""
    hint = 'Each [[toolchain]] has a debian and a cc, like "bookworm" and "gcc-12".'
    return read_rows(path or DIRECTORY / "toolchains.toml", "toolchain", Toolchain, hint)


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
