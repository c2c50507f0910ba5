"""A farm under act: an upstream, a results branch, a GitHub API, and track.yml as it is."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.act_kit import ActRun, Hub
from tests.github_api import GitHubApi, github_api


@dataclass(kw_only=True)
class Tracked:
    """A Tracked is a farm whose ``hub`` runs track.yml; its results are in ``origin``."""

    hub: Hub
    api: GitHubApi
    origin: Path

    def track(self, **inputs: object) -> ActRun:
        """One run of track.yml, by hand if there are *inputs*, else by its schedule."""
        if inputs:
            return self.hub.run("track.yml", inputs=inputs)
        return self.hub.run("track.yml", "schedule", timeout=1500)

    def branch(self) -> list[str]:
        """The names of the files on the results branch."""
        return self.git("ls-tree", "-r", "--name-only", "results").splitlines()

    def git(self, *arguments: str) -> str:
        """What git says in the repository of the results branch."""
        done = subprocess.run(
            ["git", "-C", str(self.origin), *arguments], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    @property
    def site(self) -> Path:
        """What was deployed to Pages."""
        return self.hub.stubs / "pages"

    def regressions(self) -> list[Any]:
        """The rows of the site's page of regressions."""
        return list(json.loads((self.site / "regressions.json").read_text())["regressions"])


@contextmanager
def tracked(
    root: Path, upstream: Path, landspeed: Sequence[str], track: str = ""
) -> Iterator[Tracked]:
    """A Tracked below *root* that follows *upstream*; *track* is more of its [track] table."""
    config = (Path(__file__).parent.parent / "landspeed.toml").read_text()
    head, mark, rest = config.partition("[track]\n")
    assert mark, "landspeed.toml has no [track]"
    lines = [line for line in rest.splitlines() if "=" in line or line.startswith("[")]
    own = {line.partition(" = ")[0]: line for line in lines}
    own |= {line.partition(" = ")[0]: line for line in track.splitlines()}
    files = {"landspeed.toml": "\n".join([head, "[track]", *own.values(), ""])}
    hub = Hub.make(root, landspeed, files)
    origin = root / "origin.git"
    subprocess.run(["git", "init", "--quiet", "--bare", str(origin)], check=True)
    hub.variables = {
        "LANDSPEED_UPSTREAM": str(upstream),
        "LANDSPEED_RESULTS_REMOTE": str(origin),
    }
    with github_api() as api:
        hub.environment = api.environment()
        yield Tracked(hub=hub, api=api, origin=origin)
