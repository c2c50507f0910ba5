"""``landspeed farm issues``: one GitHub issue for each regression and silent machine."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import click

from base.errors import LandspeedError, UsageError
from landspeed.bisect.note import BisectionNote
from landspeed.bisect.report_markdown import parse_reports
from landspeed.campaign.suite_compare import SuiteComparison
from landspeed.campaign.suite_report import suite_mail
from landspeed.changepoints.scan import PlacedDots, scan_records
from landspeed.cli.options.asked import read_json
from landspeed.cli.options.kinds import flag
from landspeed.cli.options.output import as_json, dry_run_option, emit, emit_json, json_option
from landspeed.console.markdown import code_block
from landspeed.console.progress import say
from landspeed.farm.github.api import GitHub
from landspeed.farm.github.issues import (
    IssueUpdate,
    comment,
    put_comment,
    update_issues,
    update_silences,
)
from landspeed.farm.github.on_request import CommentEvent, answer
from landspeed.farm.github.regressions import regressions
from landspeed.session.session import Session


@click.command("issues")
@click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False))
@dry_run_option
@click.option(
    "--comment",
    "comment_on",
    type=click.IntRange(1),
    metavar="NUMBER",
    help="Instead, add FILE, the JSON report of a bisection or of a comparison over a suite, to "
    "this issue as a comment.",
)
@flag(
    "--request",
    "Instead, start the comparison that a comment asks for; FILE is GitHub's event.",
)
@click.option(
    "--waiting",
    multiple=True,
    metavar="MACHINE",
    help="A machine that has something to measure; may be repeated. It gets an issue if its last "
    "result is older than a day.",
)
@json_option
def issues_(
    *,
    file: Path | None,
    dry_run: bool,
    comment_on: int | None,
    request: bool,
    waiting: tuple[str, ...],
) -> None:
    """Keep one GitHub issue for each confirmed regression and each silent machine.

    Opens an issue for a new regression, updates it when something changes, and closes it when the
    regression is gone. An issue that a person has closed stays closed. The issues are those of
    $GITHUB_REPOSITORY at $GITHUB_API_URL; $GITHUB_TOKEN grants access.

    \b
    Examples:
      landspeed farm issues --dry-run
      landspeed farm issues
      landspeed farm issues --comment 42 bisect.json
      landspeed farm issues --comment 42 --dry-run
      landspeed farm issues --request "$GITHUB_EVENT_PATH"
    """
    if dry_run and comment_on is not None:
        say(f"would comment on issue {comment_on}")
        return
    if (file is None) == (request or comment_on is not None):
        raise UsageError(
            "FILE goes together with --comment NUMBER or --request", hint="Give both, or neither."
        )
    if file is not None and comment_on is not None:
        _comment(comment_on, file)
        return
    if file is not None:
        event = CommentEvent.parse(read_json(str(file), hint="GitHub wrote no event."))
        say(answer(GitHub.find(), event))
        return
    session = Session()
    github = None if dry_run else GitHub.find()
    told: list[IssueUpdate] = []
    try:
        for one in (*_tell(session, github), *_silences(session, waiting, github)):
            told.append(one)
            number = "" if one.number is None else f"#{one.number} "
            say(f"{one.action}: {number}{one.title}")
    finally:
        emit_json([asdict(one) for one in told])
    for one in told if dry_run and not as_json() else ():
        emit(f"# {one.title}\n\n{one.body}\n")
    say(_summary(told, github.calls if github else 0))


def _tell(session: Session, github: GitHub | None) -> list[IssueUpdate]:
    placed = PlacedDots.of(session)
    survey, place_of = scan_records(session, placed=placed), placed.place_of
    notes = session.records.bisections.read(BisectionNote)
    found = regressions(survey.changepoints, place_of, notes)
    history = session.builder.sources.history

    def subject_of(name: str) -> str:
        try:
            return history.commit(name).subject if "." not in name else ""
        except LandspeedError:
            return ""

    return list(update_issues(found, place_of, subject_of, github))


def _silences(
    session: Session, waiting: tuple[str, ...], github: GitHub | None
) -> list[IssueUpdate]:
    table = session.records.table(["machine", "time"])
    rows = table.group_by("machine").aggregate([("time", "max")]).to_pylist()
    lasts = {row["machine"]: row["time_max"] for row in rows}
    return list(update_silences(lasts, waiting, datetime.now(UTC), github))


def _comment(number: int, file: Path) -> None:
    """Comment with the report in *file*; without one with the address of this run of a workflow."""
    hint = 'Write it with "landspeed bisect --json" or "landspeed compare --suite … --json".'
    facts = read_json(str(file), hint=hint) if file.exists() else None
    github, run = GitHub.find(), os.environ.get("GITHUB_RUN_ID", "")
    if facts is None or (isinstance(facts, dict) and "changes" in facts):
        text = f"There is no report. The log of workflow run {run} says why."
        if facts is not None:
            # the job that wrote it ran code of others: nothing in it may be Markdown
            text = code_block(suite_mail(SuiteComparison.parse(facts)))
        done = put_comment(github, number, mark=f"<!-- landspeed-run {run} -->", text=text)
    else:
        done = comment(github, number, parse_reports(facts))
    say(f"comment on issue {number}: {done}")


def _summary(told: list[IssueUpdate], calls: int) -> str:
    if not told:
        return f"no confirmed regression; {calls} API calls"
    counts = Counter(one.action for one in told)
    return ", ".join(f"{n} {deed}" for deed, n in counts.items()) + f"; {calls} API calls"
