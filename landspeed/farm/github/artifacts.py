"""Artifacts of workflow runs: results of failed runs that nobody pushed, and complete results.

https://docs.github.com/rest/actions/workflow-runs, /rest/actions/artifacts
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import zlib
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Self
from zipfile import BadZipFile, ZipFile

from base.errors import UsageError, reason
from base.files import storage_errors
from landspeed.farm.github.api import Answer, GitHub
from landspeed.farm.merge import is_result
from landspeed.farm.tar import unpack_files

COMPLETE = "landspeed-results"
"""The name of the artifact with all results, for a farm that keeps them in artifacts."""

_MOST_BYTES = 8 << 30
_PARTIAL = re.compile(r"results-[\w.-]+")
_TRACK = re.compile(r"(.*/)?track\.yml(@.*)?")
_COMPARE = re.compile(r"(.*/)?compare\.yml(@.*)?")
# The job of a comparison that shares its results, which it does if nothing in it is a patch.
_PUBLISHES = "Publish / Results"
# Events that only people with write access can cause. A pull request can leave an artifact of any
# name, from a workflow of its own.
_TRUSTED = ("schedule", "workflow_dispatch", "repository_dispatch")


class _Repository(Answer):
    """A repository by its id."""

    id: int


class WorkflowRun(Answer):
    """A completed run of a workflow.

    ``path``: The workflow's file.
    ``updated_at``: When it ended, like ``created_at`` in ISO 8601, UTC.
    ``head_repository``: Where its commit came from; None for a fork that was deleted.
    """

    id: int
    path: str
    event: str
    conclusion: str | None
    created_at: str
    updated_at: str
    repository: _Repository
    head_repository: _Repository | None

    @property
    def is_trusted(self) -> bool:
        """Whether only people with write access can have started it."""
        return self.event in _TRUSTED and self.head_repository == self.repository

    @property
    def is_comparison(self) -> bool:
        """Whether it may have run a patch of anybody, whatever its artifacts are called."""
        return _COMPARE.fullmatch(self.path) is not None


class _Job(Answer):
    name: str
    conclusion: str | None


class _Origin(Answer):
    id: int
    repository_id: int
    head_repository_id: int | None


class Artifact(Answer):
    """Files that a job uploaded under a name."""

    id: int
    name: str
    expired: bool
    created_at: str
    workflow_run: _Origin


@dataclass(frozen=True, kw_only=True)
class Artifacts:
    """The artifacts of a repository.

    ``run``: The id of the workflow run that we are part of; 0 outside of one.
    """

    github: GitHub
    run: int = 0

    @classmethod
    def find(cls) -> Self:
        """Read the repository from the environment; UsageError if it names none."""
        run = os.environ.get("GITHUB_RUN_ID", "")
        return cls(github=GitHub.find(), run=int(run) if run.isdecimal() else 0)

    def left_over(self) -> list[Artifact]:
        """Return the results of unsuccessful runs, which may or may not have been pushed.

        Only of runs that ended after the last successful run of track.yml began: that one
        recovered what there was before. Never of comparisons, whose patch may be anybody's.
        """
        listed = self.github.listed(
            "actions/runs?status=completed", WorkflowRun, "workflow_runs", pages=1
        )
        runs = [run for run in listed if run.is_trusted and run.id != self.run]
        good = [run for run in runs if run.conclusion == "success" and _TRACK.fullmatch(run.path)]
        since = max((run.created_at for run in good), default="")
        own = [run for run in runs if not run.is_comparison]
        bad = [r for r in own if r.conclusion != "success" and r.updated_at >= since]
        found: list[Artifact] = []
        for run in bad:
            found += self.github.listed(f"actions/runs/{run.id}/artifacts?", Artifact, "artifacts")
        return [one for one in found if not one.expired and _PARTIAL.fullmatch(one.name)]

    def complete(self, count: int) -> list[Artifact]:
        """Return the latest *count* artifacts with all results, the newest first."""
        listed = self.github.listed(
            f"actions/artifacts?name={COMPLETE}", Artifact, "artifacts", pages=1
        )
        own = [
            one
            for one in listed
            if not one.expired
            and one.workflow_run.head_repository_id == one.workflow_run.repository_id
        ]
        newest = sorted(own, key=lambda one: one.created_at, reverse=True)
        return list(islice(filter(self._is_published, newest), count))

    def _is_published(self, one: Artifact) -> bool:
        """Return whether publish.yml made *one*, not a patch that a comparison ran."""
        number = one.workflow_run.id
        if number == self.run:
            return True
        run = self.github.found(f"actions/runs/{number}", WorkflowRun)
        if not run.is_trusted or not run.is_comparison:
            return run.is_trusted
        jobs = self.github.listed(f"actions/runs/{number}/jobs?", _Job, "jobs")
        return any((job.name, job.conclusion) == (_PUBLISHES, "success") for job in jobs)

    def unpack(self, one: Artifact, target: Path) -> None:
        """Write the results in an artifact below *target*; UsageError if it holds anything else."""
        with tempfile.TemporaryDirectory(prefix="landspeed-artifact-") as scratch:
            zipped, tar = Path(scratch) / "artifact.zip", Path(scratch) / "results.tar"
            self.github.download(f"actions/artifacts/{one.id}/zip", zipped)
            try:
                with ZipFile(zipped) as archive, storage_errors("unpack an artifact", tar):
                    # Under a name of our own: nothing is written where the zip file says.
                    for member in archive.infolist():
                        if member.file_size > _MOST_BYTES:
                            raise BadZipFile(f"it has {member.file_size} bytes")
                        with archive.open(member) as packed, tar.open("wb") as out:
                            shutil.copyfileobj(packed, out)
                        unpack_files(tar, target, is_result)
            except (
                *(BadZipFile, EOFError, OSError, ValueError, zlib.error),
                *(NotImplementedError, RuntimeError),  # a method or a password we do not know
            ) as error:
                raise UsageError(
                    f'the artifact "{one.name}" is damaged', detail=reason(error)
                ) from error
