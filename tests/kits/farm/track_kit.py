"""A farm under act: an upstream, a results branch, a GitHub API, and track.yml as it is."""

from __future__ import annotations

import re
import subprocess
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.records.store import RecordStore
from landspeed.farm.merge import damaged_files
from tests.kits.farm.act_kit import ActRun, Hub
from tests.kits.farm.github_api import GitHubApi, github_api

COUNTS, TIMES = "23 * * * *", "53 * * * *"


@dataclass(kw_only=True)
class Tracked:
    """A farm whose ``hub`` runs track.yml; its results are in ``origin``.

    ``schedule``: The schedule that starts its runs: COUNTS or TIMES. ``limit``: seconds of a run.
    """

    hub: Hub
    api: GitHubApi
    origin: Path
    schedule: str = COUNTS
    limit: float = 600.0

    def track(self, **inputs: object) -> ActRun:
        """One run of track.yml, by hand if there are *inputs*, else by its schedule."""
        began = datetime.now(UTC)
        if inputs:
            run = self.hub.run("track.yml", inputs=inputs, timeout=self.limit)
        else:
            payload = {"schedule": self.schedule}
            run = self.hub.run("track.yml", "schedule", payload=payload, timeout=self.limit)
        self.api.ended(run.number, began, "success" if run.code == 0 else "failure")
        return run

    def killed(self, when: Callable[[], bool]) -> None:
        """One run of track.yml by its schedule, killed with all its runners when *when* is true."""
        began = datetime.now(UTC)
        payload = {"schedule": self.schedule}
        number = self.hub.run_and_kill("track.yml", when, event="schedule", payload=payload)
        self.api.ended(number, began, "cancelled")

    def records(self, columns: Sequence[str]) -> Counter[tuple[Any, ...]]:
        """How many records the results branch has of each combination of *columns*."""
        with TemporaryDirectory() as directory:
            archive = subprocess.run(
                ["git", "-C", str(self.origin), "archive", "results"],
                capture_output=True,
                check=True,
            )
            with tarfile.open(fileobj=BytesIO(archive.stdout)) as tar:
                tar.extractall(directory)  # of our own git
            return records_in(Path(directory), columns)

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

    def site_files(self) -> dict[str, bytes]:
        """Every file that was deployed, but for what says when the site was made."""
        every = (path for path in self.site.rglob("*") if path.is_file())
        found = {path.relative_to(self.site).as_posix(): path.read_bytes() for path in every}
        del found["info.json"]
        if b"<entry" not in found["regressions.xml"]:
            del found["regressions.xml"]  # asv dates an empty feed by the clock
        return found


def records_in(results: Path, columns: Sequence[str]) -> Counter[tuple[Any, ...]]:
    """How many records *results* have of each combination of *columns*; all are looked at."""
    store = RecordStore(results / "records")
    assert not damaged_files(results)
    rows = store.table(columns).to_pylist()
    return Counter(tuple(row[name] for name in columns) for row in rows)


@contextmanager
def tracked(
    root: Path,
    upstream: Path,
    landspeed: Sequence[str],
    track: str = "",
    order: str = '["git", "tarball", "debian"]',
) -> Iterator[Tracked]:
    """A Tracked below *root* that follows *upstream*; *track* is more of its [track] table.

    Releases come from the sources in *order*: with git alone nothing goes over the network.
    """
    config = (Path(__file__).resolve().parents[3] / "landspeed.toml").read_text()
    config, changed = re.subn(r"(?m)^order = .*$", f"order = {order}", config)
    assert changed == 1, "landspeed.toml has no order of sources"
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
        api.stubs = hub.stubs
        yield Tracked(hub=hub, api=api, origin=origin)
