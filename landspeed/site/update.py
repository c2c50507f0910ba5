"""From the raw records to the published site."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from base.build import Origin
from base.errors import PublishError, StorageError
from base.files import locked, storage_errors
from benchmarks.records.identical_builds import FailedBuild
from benchmarks.records.signatures import unsigned_segments
from benchmarks.workloads.points import scheduled
from builders.config import CONFIG_NAME
from landspeed.bisect.note import BisectionNote
from landspeed.changepoints.changepoint import Changepoint, Confirmation
from landspeed.changepoints.scan import PlacedDots, scan_records
from landspeed.compare.aa_rates import aa_report
from landspeed.console.progress import say
from landspeed.results.queue import Queue
from landspeed.results.series import RELEASES_LINE
from landspeed.session.session import Session
from landspeed.session.tracking_config import TrackingConfig
from landspeed.site.asv_changepoints import write_steps
from landspeed.site.asv_results import AsvLayout, CommitOf, derive
from landspeed.site.atlas_reports import ATLAS, found_by_commit
from landspeed.site.guards import guard_pages
from landspeed.site.pages.data import PAGES_DATA, PageInputs, page_files
from landspeed.site.pages.noise import write_ledger_page
from landspeed.site.pages.page_files import sync
from landspeed.site.pages.samples import write_samples
from landspeed.site.publish import asv_config, publish

_REPOSITORY_LINK = "sources.git"
_LOCK = ".publish.lock"


def has_dots(session: Session) -> bool:
    """Return whether any record is drawn."""
    return bool(scheduled(session.records.table()).num_rows)


def update_site(session: Session) -> tuple[Path, int]:
    """Update the site from the records; return its directory and the number of points.

    A second process waits until the first has finished, and then reads the records.
    """
    with locked(
        session.paths.results / _LOCK,
        waiting=lambda: say("another landspeed is publishing: waiting until it has finished"),
    ):
        return _update(session)


def _update(session: Session) -> tuple[Path, int]:
    paths = session.paths
    table = session.records.table()
    if not has_dots(session):
        raise PublishError(
            "nothing to publish yet",
            detail=f"{paths.records} has no records that are drawn.",
            hint='Measure something first: "landspeed run 18 --preset quick".',
        )
    link_repository(session)
    config, placed = asv_config(paths.project), PlacedDots.of(session)
    lines = _lines(session, placed.commits)
    layout = AsvLayout.of(config, paths.results / "asv")
    commit_of = _placer(session, lines)
    points, unplaced = derive(placed.dots, layout, commit_of)
    for line in unplaced:
        say(f"not drawn: {line}")
    steps = scan_records(session, placed=placed).changepoints
    write_steps(steps, commit_of, layout.results)
    write_ledger_page(aa_report(table), layout.results)
    write_pages(session, placed, steps)
    return publish(paths, _branches(config, table, lines)), points


def write_pages(session: Session, placed: PlacedDots, steps: Sequence[Changepoint]) -> None:
    """Write the data of landspeed's own pages."""
    records = session.records
    profiles = records.profiles.glob("*.json.gz")
    inputs = PageInputs(
        steps=steps,
        profiles={path.name.partition(".")[0]: path for path in profiles},
        samples=write_samples(records.table(), session.paths.results),
        plans=lambda ids: {
            one.id: "\n".join(one.plan.lines) for one in records.records([*ids]) if one.plan
        },
        confirmations=records.confirmations.read(Confirmation),
        bisections=records.bisections.read(BisectionNote),
        failures=records.failures.read(FailedBuild),
        queues=records.queues.read(Queue),
        commits=session.builder.sources.history.commits(placed.commits),
        unsigned=unsigned_segments(records.root),
        found=found_by_commit(session.paths.results / ATLAS),
        guards=guard_pages(session),
    )
    files = page_files(placed.dots, placed.place_of, inputs)
    sync(files, session.paths.results / PAGES_DATA)


def _branches(config: Mapping[str, Any], table: pa.Table, lines: Mapping[str, str]) -> list[str]:
    """Return the branches to draw: those of asv.conf.json and those that the records are on.

    The branch of releases is left out if no release was measured, because asv's pages start with
    the first branch.
    """
    has_releases = table["release"].null_count < table.num_rows
    named = [one for one in config.get("branches", []) if has_releases or one != RELEASES_LINE]
    return list(dict.fromkeys([*named, *sorted(set(lines.values()))]))


def link_repository(session: Session) -> None:
    """Link ``sources.git`` in the project, which asv.conf.json names, to the cache's."""
    link = session.paths.project / _REPOSITORY_LINK
    target = session.paths.sources
    session.builder.sources.releases_branch()
    with storage_errors(f'link "{link}"', link):
        if link.is_symlink() and link.readlink() != target:
            link.unlink()
        if not link.is_symlink():
            if link.exists():
                raise StorageError(
                    f'"{link}" is in the way',
                    detail="landspeed needs this name for a link to its repository of sources.",
                    hint="Move it away.",
                )
            link.symlink_to(target)


def _lines(session: Session, commits: Collection[str]) -> dict[str, str]:
    """Return the branch on which each of *commits* is drawn: a tracked or a stable one."""
    watched = TrackingConfig.load(session.paths.project / CONFIG_NAME).branches
    lines = session.builder.sources.branches_of(commits, watched)
    return {commit: line for commit, line in lines.items() if can_be_drawn(line)}


def can_be_drawn(branch: str) -> bool:
    """Return whether asv can draw *branch*: it splits names for git as a shell does.

    See ``Git.get_hashes_from_range`` in asv's ``plugins/git.py``.
    """
    try:
        return shlex.split(branch) == [branch]
    except ValueError:
        return False


def _placer(session: Session, lines: Mapping[str, str]) -> CommitOf:
    sources = session.builder.sources
    branch = sources.releases_branch()
    dates = sources.dates({*branch.values(), *lines})

    def commit_of(origin: Origin) -> tuple[str, int] | None:
        commit = origin.commit if origin.commit in lines else None
        hash_ = branch.get(origin.release) if origin.release else commit
        if hash_ is None:
            return None
        return hash_, int(dates[hash_].timestamp() * 1000)

    return commit_of
