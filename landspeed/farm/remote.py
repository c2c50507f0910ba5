"""The git remote that has the results branch, and how we authenticate to it."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from shlex import join
from tempfile import TemporaryDirectory
from typing import Self

from base.errors import LandspeedError, UsageError
from base.paths import Paths
from builders.source.git import Git
from landspeed.console.github_log import under_actions

KEY = "LANDSPEED_RESULTS_KEY"
_GITHUB = "https://github.com"
# https://docs.github.com/authentication/keeping-your-account-and-data-secure/githubs-ssh-key-fingerprints
_GITHUB_HOST = (
    "github.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl\n"
)
_USER = re.compile(r"(?<=://)[^/@]*@")


@dataclass(frozen=True, kw_only=True)
class Remote:
    """A git repository elsewhere, by URL or path."""

    url: str

    @classmethod
    def find(cls, given: str | None, paths: Paths) -> Self:
        """Return the remote *given*, else the workflow's repository, else ``origin``.

        With a deploy key in the environment a repository on our GitHub server is reached by SSH.
        UsageError if there is none of them.
        """
        repository = os.environ.get("GITHUB_REPOSITORY")
        own = f"{server()}/{repository}.git" if repository and under_actions() else ""
        url = given or own or _origin(paths)
        if not url:
            raise UsageError(
                "no git remote is configured for the results branch",
                detail=f"{paths.project} has no remote called origin.",
                hint="Give --remote URL, or set LANDSPEED_RESULTS_REMOTE.",
            )
        if url.startswith("-") or "::" in url:
            raise UsageError(f'"{url}" is not a git remote', hint="Give a URL or a path.")
        if os.environ.get(KEY) and url.startswith(f"{server()}/"):
            host, _, path = url.partition("://")[2].partition("/")
            url = f"ssh://git@{host}/{path}"
        return cls(url=url)

    @property
    def shown(self) -> str:
        """The address without a user's name and password, for messages."""
        return _USER.sub("", self.url)

    def environment(self) -> dict[str, str]:
        """Return git's environment: the deploy key, or the token, which is on no disk."""
        if key := os.environ.get(KEY):
            own = _key_directory(key).name
            options = ("-i", f"{own}/key", "-o", f"GlobalKnownHostsFile={own}/known_hosts")
            strict = ("IdentitiesOnly=yes", "BatchMode=yes", "StrictHostKeyChecking=yes")
            flags = [word for one in strict for word in ("-o", one)]
            return {"GIT_SSH_COMMAND": join(["ssh", "-F", "none", *options, *flags])}
        token = os.environ.get("GITHUB_TOKEN")
        if not token or not self.url.startswith(f"{server()}/"):
            return {}
        credentials = b64encode(f"x-access-token:{token}".encode()).decode()
        return {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"http.{server()}/.extraHeader",
            "GIT_CONFIG_VALUE_0": f"Authorization: Basic {credentials}",
        }


@cache
def _key_directory(key: str) -> TemporaryDirectory[str]:
    """Write *key* where only we can read it, until we exit: ssh takes it from a file only."""
    own = TemporaryDirectory(prefix="landspeed-key-")
    file = Path(own.name, "key")
    file.touch(mode=0o600)
    file.write_text(f"{key.strip()}\n")
    Path(own.name, "known_hosts").write_text(_GITHUB_HOST)
    return own


def server() -> str:
    """Return the address of the GitHub server we run on, without a slash at the end."""
    return (os.environ.get("GITHUB_SERVER_URL") or _GITHUB).rstrip("/")


def _origin(paths: Paths) -> str:
    try:
        return Git(directory=paths.project / ".git").text("config", "--get", "remote.origin.url")
    except LandspeedError:
        return ""
