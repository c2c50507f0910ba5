"""The tables of landspeed.toml, and [sources]: where sources of PostgreSQL may come from."""

from __future__ import annotations

import re
import tomllib
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ValidationError,
    model_validator,
)
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from base.errors import UsageError
from base.typed import problem

CONFIG_NAME = "landspeed.toml"
_SCHEMES = ("https://", "http://", "ssh://", "git://", "file://")
_TARBALL_SCHEMES = ("https://", "http://", "file://")
_SCP_LIKE = re.compile(r"[A-Za-z0-9_.-]+@[A-Za-z0-9_.-]+:")
_SUITE = re.compile(r"[a-z][a-z0-9-]*")
_REMOTE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
# The names of the settings of [sources] in the file, where their tables stand before a dot.
_SOURCE_KEYS = {
    "order": "order",
    "git.upstream": "upstream",
    "git.remotes": "remotes",
    "git.cfbot": "cfbot",
    "tarball.url": "tarball_url",
    "debian.mirror": "debian_mirror",
    "debian.suites": "debian_suites",
}
_SOURCE_TABLES = {key.partition(".")[0] for key in _SOURCE_KEYS if "." in key}


def read_table(path: Path, name: str) -> dict[str, Any]:
    """Return the table *name* of the TOML file at *path*; empty if there is no file."""
    try:
        table = tomllib.loads(path.read_text()).get(name, {})
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f'"{path}" is not valid TOML', detail=str(error)) from error
    except IsADirectoryError as error:
        raise UsageError(f'"{path}" is a directory', hint="Make it a file.") from error
    if not isinstance(table, dict):
        raise UsageError(f'"{path}": {name} is not a table', hint=f"Begin it with [{name}].")
    return table


class EnvironmentFirst(BaseSettings):
    """Settings of which an environment variable outranks the value in the file.

    An empty variable counts as unset: a workflow passes those that nobody has set as empty.
    """

    model_config = SettingsConfigDict(env_ignore_empty=True, enable_decoding=False)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003  its place in the signature is fixed
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        *args: Any,  # noqa: ARG003
        **kwargs: Any,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Rank the environment before what the file says, which is passed to the constructor."""
        return env_settings, init_settings


def _split(value: Any) -> Any:
    return value.split() if isinstance(value, str) else value


def _split_pairs(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    pairs = [word.partition("=") for word in value.split()]
    return {name: location for name, _, location in pairs}


Words = Annotated[tuple[str, ...], BeforeValidator(_split)]
"""A list, which an environment variable holds as words with spaces between them."""


class SourceKind(StrEnum):
    """The ways to obtain the source of a release."""

    GIT = "git"
    TARBALL = "tarball"
    DEBIAN = "debian"


def _unique(kinds: tuple[SourceKind, ...]) -> tuple[SourceKind, ...]:
    return tuple(dict.fromkeys(kinds))


class SourceConfig(BaseModel):
    """The ``[sources]`` table of landspeed.toml.

    ``upstream`` is the URL or the local clone of the git upstream, empty for none. ``remotes`` are
    other repositories by name, whose branches may be built as NAME/BRANCH. ``cfbot`` has the
    patches of the commitfest as branches ``cf/NUMBER``. ``tarball_url`` holds ``{version}``. An
    empty ``debian_mirror`` stands for the mirror that this machine uses.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", coerce_numbers_to_str=True)

    order: Annotated[tuple[SourceKind, ...], BeforeValidator(_split), AfterValidator(_unique)] = (
        tuple(SourceKind)
    )
    upstream: str = ""
    remotes: Annotated[dict[str, str], BeforeValidator(_split_pairs)] = {}
    cfbot: str = "https://github.com/postgresql-cfbot/postgresql.git"
    tarball_url: str = (
        "https://ftp.postgresql.org/pub/source/v{version}/postgresql-{version}.tar.bz2"
    )
    debian_mirror: str = ""
    debian_suites: Words = ("bullseye", "bookworm", "trixie", "sid")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.tarball_url and "{version}" not in self.tarball_url:
            raise _invalid("sources.tarball.url", self.tarball_url, "It must hold {version}.")
        if self.tarball_url and not self.tarball_url.startswith(_TARBALL_SCHEMES):
            why = f"URLs begin with {', '.join(_TARBALL_SCHEMES)}."
            raise _invalid("sources.tarball.url", self.tarball_url, why)
        urlsplit(self.tarball_url)  # ValueError if it has half an IPv6 address
        for suite in self.debian_suites:
            if not _SUITE.fullmatch(suite):
                raise _invalid("sources.debian.suites", suite, "A suite is spelled like bookworm.")
        if self.debian_mirror and not self.debian_mirror.startswith(_SCHEMES):
            raise _invalid("sources.debian.mirror", self.debian_mirror, "It must be a URL.")
        _require_location("sources.git.upstream", self.upstream)
        _require_location("sources.git.cfbot", self.cfbot)
        if "cf" in self.remotes:
            raise _invalid("sources.git.remotes", "cf", "This name is cfbot's, see cfbot.")
        for name, location in self.remotes.items():
            if not _REMOTE.fullmatch(name):
                raise _invalid("sources.git.remotes", name, "A name has letters, digits, - and _.")
            if not location:
                raise _invalid("sources.git.remotes", name, "It needs a URL or a path.")
            _require_location(f"sources.git.remotes.{name}", location)
        return self

    @classmethod
    def load(cls, path: Path) -> Self:
        """Return the settings in *path*, with defaults for what the file leaves out.

        $LANDSPEED_UPSTREAM and $LANDSPEED_REMOTES (``NAME=URL NAME=URL``) outrank the file. Raises
        UsageError.
        """
        settings: dict[str, Any] = {}
        for key, value in _dotted(read_table(path, "sources")).items():
            if key not in _SOURCE_KEYS:
                raise _unreadable(path, f"unknown key {key}")
            settings[_SOURCE_KEYS[key]] = value
        try:
            for name in {"upstream", "cfbot"} & settings.keys():
                settings[name] = _absolute(settings[name], path.parent)
            if "remotes" in settings:
                named = dict(settings["remotes"]).items()
                settings["remotes"] = {name: _absolute(one, path.parent) for name, one in named}
            return cls(**_SourceSettings(**settings).model_dump())
        except ValidationError as error:
            raise _unreadable(path, problem(error)) from error
        except (TypeError, ValueError, RuntimeError) as error:  # the last of ~NOBODY
            raise _unreadable(path, str(error)) from error

    @property
    def upstream_directory(self) -> Path | None:
        """The local clone that is the git upstream; None if it is a URL or not configured."""
        return Path(self.upstream) if is_path(self.upstream) else None


class _SourceSettings(SourceConfig, EnvironmentFirst):
    model_config = SettingsConfigDict(env_prefix="LANDSPEED_")


def is_path(location: str) -> bool:
    """Return whether *location* is a path on this machine, neither a URL nor HOST:PATH."""
    return bool(location) and not (location.startswith(_SCHEMES) or _SCP_LIKE.match(location))


def _dotted(table: dict[str, Any]) -> dict[str, Any]:
    """Return *table* with the keys of its own tables joined to theirs by dots.

    An empty table that is not known stays, so that its name is not passed over.
    """
    flat: dict[str, Any] = {}
    for key, value in table.items():
        inner = value if isinstance(value, dict) and (value or key in _SOURCE_TABLES) else None
        flat |= {key: value} if inner is None else {f"{key}.{n}": one for n, one in inner.items()}
    return flat


def _absolute(location: str, base: Path) -> str:
    """Return *location*; a relative path is taken from *base*, the directory of the file."""
    if not location or "://" in location or "::" in location or _SCP_LIKE.match(location):
        return location
    return str((base / Path(location).expanduser()).absolute())


def _require_location(key: str, location: str) -> None:
    if "://" in location and not location.startswith(_SCHEMES):
        raise _invalid(key, location, f"URLs begin with {', '.join(_SCHEMES)}.")
    if location.startswith("-") or "::" in location:
        raise _invalid(key, location, "Give a URL or a path.")


def _invalid(key: str, value: str, why: str) -> UsageError:
    return UsageError(f'invalid {key}: "{value}"', detail=why, hint=f"Correct it in {CONFIG_NAME}.")


def _unreadable(path: Path, why: str) -> UsageError:
    return UsageError(f'"{path}": invalid [sources]', detail=why)
