"""Which results a job of the farm may hand in: those of its machine, of what it had to measure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from base.errors import RecordError, UsageError, reason
from benchmarks.records.identical_builds import FailedBuild, IdenticalBuild
from benchmarks.records.notes import read_note
from benchmarks.records.segments import read_scalars
from benchmarks.records.signatures import machine_keys, signed_segments
from landspeed.bisect.journal import ATLAS, read_journal
from landspeed.bisect.note import BisectionNote
from landspeed.changepoints.changepoint import Changepoint, Confirmation
from landspeed.farm.merge import JOURNALS, NOTES, RECORDS, RETIRED, Accept, kind_of
from landspeed.results.queue import Queue

_JOB = re.compile(r"results-(?:time|confirm)-([\w.-]+)")


@dataclass(frozen=True, kw_only=True)
class Assigned:
    """What one job may hand in; None stands for any machine, or any commit and release.

    ``refs`` are releases and commits, in full or as far as `shorten` leaves them.
    """

    machine: str | None = None
    refs: frozenset[str] | None = None

    def require(self, path: Path, name: str) -> None:
        """RecordError unless the shared file *name*, at *path*, is of what was assigned."""
        machines, refs = _told(path, name)
        strange = machines - {self.machine} if self.machine is not None else set()
        if self.refs is not None:
            strange |= {ref for ref in refs if not {ref, shorten(ref)} & self.refs}
        if strange:
            some = ", ".join(sorted(strange)[:3])
            raise RecordError(
                f'"{name}" was refused', detail=f"Its job was not asked to measure {some}."
            )


def shorten(commit: str) -> str:
    """Return enough of the hash of a *commit* to tell it from all others of a range.

    A plan has to fit into a variable of the environment, which holds 128 KiB.
    """
    return commit[:10]


def acceptance(job: Assigned, results: Path) -> Accept:
    """Return what decides whether files at *results*, which *job* brought, may enter.

    Of a machine whose key is known here only signed Segments may.
    """
    keys = machine_keys()
    signed = signed_segments(results / RECORDS, keys)

    def accept(path: Path, name: str) -> None:
        job.require(path, name)
        machine = path.parts[-3]
        is_segment = kind_of(name) == "segments"
        if is_segment and machine in keys and (machine, path.stem) not in signed:
            raise RecordError(f'"{name}" was refused', detail=f"{machine} did not sign it.")

    return accept


_PLAN = TypeAdapter(dict[str, Assigned])


def parse_assigned(text: str) -> dict[str, Assigned]:
    """Return what was assigned to each job, by the name of its artifact; {} without a *text*."""
    try:
        return _PLAN.validate_json(text) if text else {}
    except ValidationError as error:
        raise UsageError("invalid --assigned", detail=reason(error)) from error


def assigned_by_name(artifact: str, counter: str) -> Assigned:
    """Return what the job of a run whose plan is not known may hand in.

    *counter* is the machine that jobs count for.
    """
    if artifact.startswith(("results-count-", "results-build-", "results-atlas-")):
        return Assigned(machine=counter)
    job = _JOB.fullmatch(artifact)
    return Assigned(machine=job[1] if job else None)


def _told(path: Path, name: str) -> tuple[set[str], set[str]]:
    """Return the machines, and the commits and releases, that the shared file *name* tells of."""
    kind = kind_of(name) or ""
    if kind == RETIRED:
        raise RecordError(f'"{name}" was refused', detail="A job retires no results.")
    if kind == "segments":
        columns = ["machine", "release", "commit", "tree"]
        rows = read_scalars([path], columns).group_by(columns).aggregate([]).to_pylist()
        refs = {row["release"] or row["commit"] or row["tree"] for row in rows}
        return {row["machine"] for row in rows}, refs
    if kind in JOURNALS:
        inputs, events = read_journal(path)
        of_atlas = kind == ATLAS  # a bisection is one job's; its candidates can be variants
        refs = {event.candidate for event in events if event.candidate} if of_atlas else set()
        return {str(inputs["machine"])}, refs
    machines, refs = set[str](), set[str]()
    match read_note(path, NOTES[kind]) if kind in NOTES else None:
        case Confirmation(changepoint=Changepoint(machine=name, before=before, after=after)):
            machines, refs = {name}, {before.ref, after.ref}
        case Queue(machine=name):
            machines = {name}
        case BisectionNote(report=report):
            machines, refs = {report.machine.name}, {report.good.ref, report.bad.ref}
        case IdenticalBuild(origin=origin) | FailedBuild(origin=origin):
            refs = {origin.ref}
    return machines, refs
