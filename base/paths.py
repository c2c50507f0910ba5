"""Directories of landspeed on this machine, and the user that its servers run as."""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from base.errors import StorageError
from base.files import digest_text

SERVER_USER = "landspeed"
MACHINE = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
"""The name of a machine, which is also a directory's."""


@dataclass(frozen=True, kw_only=True)
class Paths:
    """The cache, which can be rebuilt, and the project, which holds the results.

    ``cache`` is $LANDSPEED_CACHE, else $XDG_CACHE_HOME/landspeed, else
    ~/.cache/landspeed (/var/cache/landspeed for root, whose home servers
    cannot enter). ``project`` is $LANDSPEED_PROJECT, else the nearest directory upwards
    with an asv.conf.json.
    """

    cache: Path
    project: Path

    @classmethod
    def find(cls) -> Self:
        """Return the paths that the environment and the working directory say."""
        return cls(cache=_cache(), project=_project())

    @property
    def sources(self) -> Path:
        return self.cache / "sources.git"

    @property
    def downloads(self) -> Path:
        return self.cache / "downloads"

    @property
    def store(self) -> Path:
        return self.cache / "builds"

    @property
    def external_servers(self) -> Path:
        return self.cache / "foreign"

    @property
    def trees(self) -> Path:
        return self.cache / "trees"

    @property
    def ccache(self) -> Path:
        return self.cache / "ccache"

    @property
    def results(self) -> Path:
        return Path(os.environ.get("LANDSPEED_RESULTS") or self.project / "results")

    @property
    def records(self) -> Path:
        return self.results / "records"

    @property
    def site(self) -> Path:
        return self.project / "site"

    @property
    def server_root(self) -> Path:
        """Where data directories and sockets live: a place the server's user can enter.

        It is in the cache when that user can reach it, else below /var/tmp.
        """
        override = os.environ.get("LANDSPEED_DATA")
        if override:
            return Path(override).absolute()
        if os.geteuid() != 0 or reachable_by_others(self.cache):
            return self.cache / "data"
        name = f"landspeed-{digest_text(str(self.cache))[:8]}"
        return Path("/var/tmp") / name  # noqa: S108  ServerHome checks whose it is


def _cache() -> Path:
    explicit = os.environ.get("LANDSPEED_CACHE")
    if explicit:
        return Path(explicit).absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    if base:
        return Path(base).absolute() / "landspeed"
    if os.geteuid() == 0:
        return Path("/var/cache/landspeed")
    return Path.home() / ".cache" / "landspeed"


def _project() -> Path:
    explicit = os.environ.get("LANDSPEED_PROJECT")
    if explicit:
        return Path(explicit).absolute()
    here = Path.cwd()
    for directory in (here, *here.parents):
        if (directory / "asv.conf.json").is_file():
            return directory
    raise StorageError(
        "no landspeed project here",
        detail=f"There is no asv.conf.json in {here} or above it.",
        hint="Change into the checkout, or set LANDSPEED_PROJECT.",
    )


def reachable_by_others(path: Path) -> bool:
    """Whether any user may pass through every directory on the way to *path*."""
    return all(
        not parent.exists() or parent.stat().st_mode & 0o001 for parent in (path, *path.parents)
    )


def server_user() -> pwd.struct_passwd | None:
    """Return the user that servers run as when we are root; None when we are not.

    PostgreSQL refuses to run as root. It is $LANDSPEED_SERVER_USER, else "landspeed"
    (made by ``make setup``), else "nobody".
    """
    if os.geteuid() != 0:
        return None
    for name in (os.environ.get("LANDSPEED_SERVER_USER"), SERVER_USER, "nobody"):
        if name:
            try:
                return pwd.getpwnam(name)
            except KeyError:
                continue
    raise StorageError(
        "no unprivileged user to run PostgreSQL as",
        hint='Create one with "useradd --system landspeed", or set LANDSPEED_SERVER_USER.',
    )
