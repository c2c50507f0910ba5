"""Where the results branch is: the remote's address, and how we prove that we may write there."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from dataclasses import dataclass
from typing import Self

from base.errors import LandspeedError, UsageError
from base.paths import Paths
from builders.source.git import Git

_GITHUB = "https://github.com"
_USER = re.compile(r"(?<=://)[^/@]*@")


@dataclass(frozen=True, kw_only=True)
class Remote:
    """A Remote is a git repository somewhere else, by URL or path."""

    url: str

    @classmethod
    def find(cls, given: str | None, paths: Paths) -> Self:
        """The Remote *given*; else the repository that the workflow runs for; else ``origin``.

        UsageError if there is none of it.
        """
        repository = os.environ.get("GITHUB_REPOSITORY")
        acting = os.environ.get("GITHUB_ACTIONS") == "true"
        url = given or (f"{server()}/{repository}.git" if repository and acting else "")
        url = url or _origin(paths)
        if not url:
            raise UsageError(
                "nobody knows where the results branch is",
                detail=f"{paths.project} has no remote called origin.",
                hint="Give --remote URL, or set LANDSPEED_RESULTS_REMOTE.",
            )
        if url.startswith("-") or "::" in url:
            raise UsageError(f'"{url}" is not a git remote', hint="Give a URL or a path.")
        return cls(url=url)

    @property
    def shown(self) -> str:
        """The address as people may see it: without a user's name and password."""
        return _USER.sub("", self.url)

    def environment(self) -> dict[str, str]:
        """What git must be told to be let in; the token is on no command line and on no disk."""
        token = os.environ.get("GITHUB_TOKEN")
        if not token or not self.url.startswith(f"{server()}/"):
            return {}
        proof = b64encode(f"x-access-token:{token}".encode()).decode()
        return {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"http.{server()}/.extraHeader",
            "GIT_CONFIG_VALUE_0": f"Authorization: Basic {proof}",
        }


def server() -> str:
    """The GitHub that we are on, without a slash at the end."""
    return (os.environ.get("GITHUB_SERVER_URL") or _GITHUB).rstrip("/")


def _origin(paths: Paths) -> str:
    try:
        return Git(directory=paths.project / ".git").text("config", "--get", "remote.origin.url")
    except LandspeedError:
        return ""
