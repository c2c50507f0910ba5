"""``landspeed farm results``: exchange results with the place that all machines share."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from base.errors import LandspeedError, RecordError, UsageError
from base.files import warn_set_aside
from base.paths import Paths
from benchmarks.machine.machine import Machine
from benchmarks.records.signatures import unsigned_segments
from builders.config import CONFIG_NAME
from landspeed.cli.options.kinds import flag, together
from landspeed.cli.options.output import (
    as_json,
    dry_run_option,
    emit,
    emit_json,
    json_option,
    show_dry_run,
)
from landspeed.console.format import counted
from landspeed.console.github_log import put_outputs
from landspeed.console.progress import say
from landspeed.farm.acceptance import Assigned, acceptance, assigned_by_name, parse_assigned
from landspeed.farm.github.artifacts import COMPLETE, Artifacts
from landspeed.farm.merge import RECORDS, damaged_files, is_result, merge_results, retire
from landspeed.farm.remote import Remote
from landspeed.farm.results_branch import BRANCH, ResultsBranch
from landspeed.farm.results_store import ResultsArtifact, ResultsDirectory
from landspeed.farm.tar import pack_files, unpack_files
from landspeed.session.tracking_config import ResultsKind, TrackingConfig

_branch_options = together(
    click.option(
        "--remote",
        metavar="URL",
        envvar="LANDSPEED_RESULTS_REMOTE",
        help="Repository of the branch; by default the one that the workflow runs for, or the "
        "origin of the checkout.",
    ),
    click.option(
        "--branch",
        default=BRANCH,
        show_default=True,
        envvar="LANDSPEED_RESULTS_BRANCH",
        help="Branch of the results; it holds nothing else.",
    ),
)


@click.group("results")
def results_() -> None:
    """Exchange results with the place that all machines share.

    That place is a git branch, or an artifact or a directory if [track] keep in landspeed.toml
    says so. Records are merged by union in both directions: none is changed or lost, and the
    branch is never force-pushed. $GITHUB_TOKEN is used to log in if it is set.

    \b
    Examples:
      landspeed farm results fetch
      landspeed farm results push --remote git@example.org:farm.git
    """


@results_.command()
@_branch_options
@json_option
def fetch(*, remote: str | None, branch: str) -> None:
    """Merge the records of the branch into results/.

    \b
    Examples:
      landspeed farm results fetch
      landspeed farm results fetch --remote https://github.com/postgres-farm/landspeed.git
    """
    new = _home(remote, branch).fetch()
    say(f"{counted(new, 'file')} new here" if new else "nothing new there")
    emit_json({"fetched": new})


@results_.command()
@_branch_options
@dry_run_option
@json_option
def push(*, remote: str | None, branch: str, dry_run: bool) -> None:
    """Push the records that only results/ has.

    Merges the branch into results/ first.

    \b
    Examples:
      landspeed farm results push
      landspeed farm results push --remote git@example.org:farm.git --branch results
    """
    home = _home(remote, branch)
    if dry_run:
        names = home.missing()
        text = f"would push {counted(len(names), 'file')} that the branch does not have yet"
        show_dry_run(text, {"files": names})
        return
    pushed = home.push()
    say(f"pushed {counted(pushed, 'file')}" if pushed else "nothing new to push")
    emit_json({"pushed": pushed})


@results_.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@_branch_options
def pack(*, file: Path, remote: str | None, branch: str) -> None:
    """Write the records that the branch lacks to FILE.

    These are the records that the branch did not have when it was last fetched. Another job
    merges the FILE with "unpack".

    \b
    Examples:
      landspeed farm results pack results-count.tar
    """
    names = _home(remote, branch).missing()
    pack_files(file, Paths.find().results, names)
    say(f"{counted(len(names), 'file')} packed")
    emit(str(file))


@results_.command()
@click.argument(
    "paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH..."
)
@click.option(
    "--assigned",
    metavar="JSON",
    default="",
    help="Take from each directory of files only what this plan assigned to its job: the "
    'output "assigned" of "farm plan".',
)
def unpack(*, paths: tuple[Path, ...], assigned: str) -> None:
    """Merge files that "pack" wrote into results/.

    A PATH is such a file or a directory of them. A PATH that does not exist is skipped: the job
    that would have written it had nothing to do. What is damaged is set aside with a warning.

    \b
    Examples:
      landspeed farm results unpack results-count.tar
      landspeed farm results unpack incoming
    """
    results, new, jobs = Paths.find().results, 0, parse_assigned(assigned)
    files, damaged = _files_below(paths), []
    # A job that confirms packs what others measured, too: theirs comes first.
    for file in sorted(files, key=lambda one: "confirm" in one.parent.name):
        job = jobs.get(file.parent.name)
        try:
            if jobs and job is None:
                raise UsageError("no job of this run has this name")
            unpack = partial(unpack_files, file, accept=is_result)
            new += _take_over(unpack, job or Assigned(), results)
        except UsageError as error:
            damaged.append(file)
            warn_set_aside(file, error)
    say(
        f"{counted(new, 'file')} new here, from {len(files) - len(damaged)} packed"
        if files
        else "nothing is there to unpack"
    )
    named = set(damaged) & set(paths)
    if named:
        raise UsageError(
            f"{counted(len(named), 'file')} could not be unpacked, the others are merged",
            detail="\n".join(sorted(map(str, named))),
        )


@results_.command()
@json_option
def recover() -> None:
    """Merge the artifacts of failed workflow runs into results/.

    These runs measured something and failed before they could push it. They are the runs of
    $GITHUB_REPOSITORY since the last successful run of the workflow "track". $GITHUB_TOKEN grants
    access.

    \b
    Examples:
      landspeed farm results recover
      landspeed farm results recover --json
    """
    artifacts, results, new = Artifacts.find(), Paths.find().results, 0
    machine = Machine.detect().name
    for one in artifacts.left_over():
        try:
            job = assigned_by_name(one.name, machine)
            new += _take_over(partial(artifacts.unpack, one), job, results)
        except LandspeedError as error:
            say(f'not taken: the artifact "{one.name}"\n{error}')  # the others are
    put_outputs({"recovered": new})
    say(f"{counted(new, 'file')} recovered from failed runs" if new else "nothing to recover")
    emit_json({"recovered": new})


@results_.command()
@flag("--drop", "Retire the damaged files: no machine uses them again.")
@json_option
def check(*, drop: bool) -> None:
    """Read all results here; list what is damaged, was refused, or is not signed.

    Commands set such files aside with a warning and go on. With --drop each moves to
    results/aside, and a note that "push" shares makes all other machines do the same.

    \b
    Examples:
      landspeed farm results check
      landspeed farm results check --drop
    """
    results = Paths.find().results
    damaged, unsigned = damaged_files(results), unsigned_segments(results / RECORDS)
    for name, why in damaged.items() if drop else ():
        retire(results, name, why)
    emit_json({"damaged": damaged, "dropped": drop, "unsigned": unsigned})
    for name, why in {} if as_json() else damaged.items():
        emit(f"{name}: {why}")
    for line in unsigned:
        say(line)
    found = counted(len(damaged), "damaged file")
    say(f"{found}{' dropped' if drop and damaged else ''}" if damaged else "nothing is damaged")
    if damaged and not drop:
        raise RecordError(
            f"the results have {found}", hint='"landspeed farm results check --drop" retires them.'
        )


def _take_over(unpack: Callable[..., None], job: Assigned, results: Path) -> int:
    """Merge what *unpack* writes to its *target* and *job* may hand in; return the new files."""
    with TemporaryDirectory(prefix="landspeed-unpack-") as scratch:
        target = Path(scratch)
        unpack(target=target)
        return merge_results(target, results, accept=acceptance(job, target))


def _files_below(paths: tuple[Path, ...]) -> list[Path]:
    found: list[Path] = []
    for path in paths:
        inside = sorted(path.rglob("*")) if path.is_dir() else [path]
        found += [one for one in inside if one.is_file()]
    return found


def _home(remote: str | None, branch: str) -> ResultsBranch | ResultsArtifact | ResultsDirectory:
    """Where the project's results stay: [track] keep, a branch unless it says otherwise."""
    paths = Paths.find()
    track = TrackingConfig.load(paths.project / CONFIG_NAME)
    match ResultsKind(track.keep):
        case ResultsKind.BRANCH:
            found = Remote.find(remote, paths)
            return ResultsBranch(remote=found, paths=paths, name=branch)
        case ResultsKind.ARTIFACT:
            file = paths.project / f"{COMPLETE}.tar"
            return ResultsArtifact(artifacts=Artifacts.find, paths=paths, file=file)
        case ResultsKind.DIRECTORY:
            return ResultsDirectory(directory=Path(track.directory), paths=paths)
