"""Artifacts of workflow runs: what is still there of runs that ended badly, and all the results.

https://docs.github.com/rest/actions/workflow-runs, /rest/actions/artifacts
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from zipfile import BadZipFile, ZipFile

from base.errors import UsageError
from base.files import storage_errors
from landspeed.farm.github import Facts, GitHub
from landspeed.farm.merge import is_kept
from landspeed.farm.tar import unpack_files

WHOLE = "landspeed-results"
"""The artifact that has all results, where they stay in artifacts."""

_PART = re.compile(r"results-[\w.-]+")
_TRACK = re.compile(r"(.*/)?track\.yml(@.*)?")
# What nobody but who may write to the repository can start. A pull request can leave an artifact
# of any name, made by a workflow of its own.
_OURS = ("schedule", "workflow_dispatch", "repository_dispatch")


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """An Artifact is what a job left under a ``name``; GitHub knows it by its ``id``."""

    id: int
    name: str


@dataclass(frozen=True, kw_only=True)
class Artifacts:
    """Artifacts are those of a repository; ``run`` is the workflow run that we are, 0 if none."""

    github: GitHub
    run: int = 0

    @classmethod
    def find(cls, say: Callable[[str], None]) -> Self:
        """Those of the repository that the environment names; UsageError if it names none."""
        run = os.environ.get("GITHUB_RUN_ID", "")
        return cls(github=GitHub.find(say), run=int(run) if run.isdecimal() else 0)

    def left_over(self) -> list[Artifact]:
        """The results of runs that ended badly, which may have got to the results or not.

        Of those that ended after the last good `track` began: it had what there was before.
        """
        listed = self.github.listed("actions/runs?status=completed", "workflow_runs", pages=1)
        runs = [run for run in listed if _is_ours(run) and run["id"] != self.run]
        good = [run for run in runs if run["conclusion"] == "success"]
        since = max((r["created_at"] for r in good if _TRACK.fullmatch(r["path"])), default="")
        bad = [r for r in runs if r["conclusion"] != "success" and r["updated_at"] >= since]
        return [one for run in bad for one in self._of_run(run["id"])]

    def _of_run(self, run: int) -> list[Artifact]:
        listed = self.github.listed(f"actions/runs/{run}/artifacts?", "artifacts")
        return [one for one in _there(listed) if _PART.fullmatch(one.name)]

    def whole(self, count: int) -> list[Artifact]:
        """The latest *count* artifacts that have all results, the newest first."""
        listed = self.github.listed(f"actions/artifacts?name={WHOLE}", "artifacts", pages=1)
        ours = [one for one in listed if _is_of_our_own(one["workflow_run"])]
        ours.sort(key=lambda one: str(one["created_at"]), reverse=True)
        return list(_there(ours))[:count]

    def take(self, one: Artifact, target: Path) -> None:
        """Write the results that *one* holds below *target*; UsageError if it holds others."""
        with tempfile.TemporaryDirectory(prefix="landspeed-artifact-") as scratch:
            zipped, tar = Path(scratch) / "artifact.zip", Path(scratch) / "results.tar"
            self.github.download(f"actions/artifacts/{one.id}/zip", zipped)
            try:
                with ZipFile(zipped) as archive, storage_errors("unpack an artifact", tar):
                    # by what it is, not by its name: nothing is written where a zip says
                    for member in archive.infolist():
                        with archive.open(member) as packed, tar.open("wb") as out:
                            shutil.copyfileobj(packed, out)
                        unpack_files(tar, target, is_kept)
            except (BadZipFile, EOFError) as error:
                raise UsageError(
                    f'the artifact "{one.name}" is damaged', detail=str(error)
                ) from error


def _is_ours(run: Facts) -> bool:
    head = run["head_repository"] or {}  # of a fork that was deleted there is none
    return run["event"] in _OURS and head.get("id") == run["repository"]["id"]


def _is_of_our_own(run: Facts) -> bool:
    return bool(run["head_repository_id"] == run["repository_id"])


def _there(listed: list[Facts]) -> Iterator[Artifact]:
    for one in listed:
        if not one["expired"]:
            yield Artifact(id=int(one["id"]), name=str(one["name"]))
