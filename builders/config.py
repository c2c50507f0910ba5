"""The reader of landspeed.toml: where sources of PostgreSQL may come from, in which order."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from base.errors import UsageError

CONFIG_NAME = "landspeed.toml"
_SCHEMES = ("https://", "http://", "ssh://", "git://", "file://")
_SCP_LIKE = re.compile(r"[A-Za-z0-9_.-]+@[A-Za-z0-9_.-]+:")
_SUITE = re.compile(r"[a-z][a-z0-9-]*")
_REMOTE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


class SourceKind(StrEnum):
    """A SourceKind is one way to come by the source of a release."""

    GIT = "git"
    TARBALL = "tarball"
    DEBIAN = "debian"


@dataclass(frozen=True, kw_only=True)
class SourceConfig:
    """A SourceConfig is the ``[sources]`` section of landspeed.toml.

    ``upstream`` is the URL or the local clone of the git upstream, empty for none; ``remotes``
    are the other repositories, by name, whose branches may be built as NAME/BRANCH;
    ``tarball_url`` holds ``{version}``; ``debian_mirror`` is empty for the machine's own.
    """

    order: tuple[SourceKind, ...] = (SourceKind.GIT, SourceKind.TARBALL, SourceKind.DEBIAN)
    upstream: str = ""
    remotes: Mapping[str, str] = field(default_factory=dict)
    tarball_url: str = (
        "https://ftp.postgresql.org/pub/source/v{version}/postgresql-{version}.tar.bz2"
    )
    debian_mirror: str = ""
    debian_suites: tuple[str, ...] = ("bullseye", "bookworm", "trixie", "sid")

    def __post_init__(self) -> None:
        if self.tarball_url and "{version}" not in self.tarball_url:
            raise _invalid("sources.tarball.url", self.tarball_url, "It must hold {version}.")
        for suite in self.debian_suites:
            if not _SUITE.fullmatch(suite):
                raise _invalid("sources.debian.suites", suite, "A suite is spelled like bookworm.")
        if self.debian_mirror and not self.debian_mirror.startswith(_SCHEMES):
            raise _invalid("sources.debian.mirror", self.debian_mirror, "It must be a URL.")
        _require_location("sources.git.upstream", self.upstream)
        for name, location in self.remotes.items():
            if not _REMOTE.fullmatch(name):
                raise _invalid("sources.git.remotes", name, "A name has letters, digits, - and _.")
            if not location:
                raise _invalid("sources.git.remotes", name, "It needs a URL or a path.")
            _require_location(f"sources.git.remotes.{name}", location)

    @classmethod
    def load(cls, path: Path) -> SourceConfig:
        """What *path* says, the defaults for what it leaves out or when it is not there.

        $LANDSPEED_UPSTREAM and $LANDSPEED_REMOTES (``NAME=URL NAME=URL``) outrank it, where set.
        """
        return _outranked(cls._read(path))

    @classmethod
    def _read(cls, path: Path) -> Self:
        try:
            document = tomllib.loads(path.read_text())
        except FileNotFoundError:
            return cls()
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UsageError(f'"{path}" is not valid TOML', detail=str(error)) from error
        try:
            return cls(**_settings(document.get("sources", {}), path.parent))
        except (TypeError, ValueError, AttributeError) as error:
            raise UsageError(
                f'"{path}": [sources] cannot be understood', detail=str(error)
            ) from error

    @property
    def upstream_directory(self) -> Path | None:
        """The local clone that is the git upstream, or None when it is a URL or not configured."""
        remote = self.upstream.startswith(_SCHEMES) or _SCP_LIKE.match(self.upstream)
        return Path(self.upstream) if self.upstream and not remote else None


def _settings(section: dict[str, Any], base: Path) -> dict[str, Any]:
    """The constructor's arguments in *section*; a key nobody reads is an error."""
    known = {
        "order": None,
        "git": {"upstream", "remotes"},
        "tarball": {"url"},
        "debian": {"mirror", "suites"},
    }
    for key, inner in known.items():
        unknown = set(section.get(key, ())) - inner if inner else set()
        if unknown:
            raise ValueError(f"unknown key {key}.{min(unknown)}")
    if set(section) - set(known):
        raise ValueError(f"unknown key {min(set(section) - set(known))}")
    git, tarball, debian = (section.get(kind, {}) for kind in ("git", "tarball", "debian"))
    settings: dict[str, Any] = {}
    if "order" in section:
        settings["order"] = tuple(dict.fromkeys(SourceKind(name) for name in section["order"]))
    if git.get("upstream"):
        settings["upstream"] = _anchored(str(git["upstream"]), base)
    if "remotes" in git:
        named = dict(git["remotes"]).items()
        settings["remotes"] = {name: _anchored(str(where), base) for name, where in named}
    if "url" in tarball:
        settings["tarball_url"] = str(tarball["url"])
    if "mirror" in debian:
        settings["debian_mirror"] = str(debian["mirror"])
    if "suites" in debian:
        settings["debian_suites"] = tuple(map(str, debian["suites"]))
    return settings


def _anchored(upstream: str, base: Path) -> str:
    """*upstream* with a relative path made absolute below *base*, the file's directory."""
    if "://" in upstream or "::" in upstream or _SCP_LIKE.match(upstream):
        return upstream
    return str((base / Path(upstream).expanduser()).absolute())


def _outranked(config: SourceConfig) -> SourceConfig:
    upstream, remotes = (os.environ.get(f"LANDSPEED_{n}", "") for n in ("UPSTREAM", "REMOTES"))
    if upstream:
        config = replace(config, upstream=upstream)
    if remotes:
        pairs = [word.partition("=") for word in remotes.split()]
        config = replace(config, remotes={name: location for name, _, location in pairs})
    return config


def _require_location(key: str, location: str) -> None:
    if "://" in location and not location.startswith(_SCHEMES):
        raise _invalid(key, location, f"URLs begin with {', '.join(_SCHEMES)}.")
    if location.startswith("-") or "::" in location:
        raise _invalid(key, location, "Give a URL or a path.")


def _invalid(key: str, value: str, why: str) -> UsageError:
    return UsageError(f'invalid {key}: "{value}"', detail=why, hint=f"Correct it in {CONFIG_NAME}.")
