"""``landspeed study``: plan, measure and report an experiment declared in studies/."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from base.errors import UsageError, raise_if
from benchmarks.server.storage import STORAGES
from benchmarks.workloads.catalog import SUITES
from benchmarks.workloads.metrics import INSTRUCTIONS
from benchmarks.workloads.scenario import parse_scales
from landspeed.campaign.campaign import Tally, failed, summary
from landspeed.cli.options.asked import given, open_session, typed_command
from landspeed.cli.options.common import memory_option, metric_option
from landspeed.cli.options.output import dry_run_option, emit_either, json_option, show_dry_run
from landspeed.cli.options.preset import axes_options
from landspeed.cli.plan import cells_text
from landspeed.console.progress import duration, say
from landspeed.session.session import Session
from landspeed.site.update import has_dots, update_site
from landspeed.study.ablation import NameValue
from landspeed.study.plan import StudyPlan, plan_study, study_facts
from landspeed.study.report import StudyReport
from landspeed.study.request import StudyRequest
from landspeed.study.run import run_study
from landspeed.study.schema import DISK, Axes, Size, load_study
from landspeed.study.upgrade import Upgrade

_AXES = ("tiers", "modes", "protocols", "clients", "storages")


@click.command(name="study", epilog="docs/studies.md describes each study.")
@click.argument("name")
@click.argument("refs", nargs=-1, metavar="[REF[:VARIANT]]...")
@click.option(
    "--preset",
    type=click.Choice([size.value for size in Size]),
    default=Size.QUICK.value,
    show_default=True,
    help="How much to measure: minutes, hours, or everything.",
)
@axes_options
@click.option(
    "--storage",
    "storages",
    multiple=True,
    type=click.Choice([DISK, *STORAGES]),
    help="Storage of the data directory; may be repeated.",
)
@click.option(
    "--setting",
    "settings",
    multiple=True,
    metavar="NAME[=VALUE]",
    help="Setting to tell apart (study tuned) or to add to each server (study forks); "
    "may be repeated.",
)
@click.option(
    "--script",
    "scripts",
    multiple=True,
    metavar="FILE[@WEIGHT]",
    help="Script of pgbench, in a study that takes scripts; may be repeated.",
)
@metric_option
@click.option(
    "--suite",
    type=click.Choice(SUITES),
    help="Workloads to count in a study that counts a suite (upgrade).",
)
@memory_option
@dry_run_option
@json_option
def study_(
    *,
    name: str,
    refs: tuple[str, ...],
    preset: str,
    metric: str,
    suite: str | None,
    memory: int | None,
    dry_run: bool,
    **axes: Any,
) -> None:
    """Measure the study NAME and write its report.

    The report holds tables, plots and the raw data. Runs are interleaved; runs that are recorded
    already are not repeated, so after Ctrl-C the same command resumes. REFs and the options for
    the axes (--tier, --mode and so on) replace what the study declares on that axis. The study
    upgrade also counts a suite of workloads; --metric instructions leaves out its timed runs.

    \b
    Examples:
      landspeed study page-size --dry-run
      landspeed study page-size --preset quick
      landspeed study archaeology 13 17 18 --preset regular
      landspeed study page-size 18:bs4 18 --samples 20
      landspeed study custom 17 18 --script reads.sql@9 --script writes.sql@1
      landspeed study upgrade 17 18
      landspeed study upgrade 13 18 --suite small --metric instructions
      landspeed study tuned --setting shared_buffers=4GB --setting wal_compression=on
    """
    session = open_session(memory, counted=False)
    study = load_study(session.paths.project, name)
    request = _request(preset, refs, axes)
    upgrade = Upgrade.of(study, refs, suite)
    if upgrade is None and {"suite", "metric"} & set(given()):
        raise UsageError(f'study "{name}" counts no suite', hint='"upgrade" counts one.')
    plan = None
    if upgrade is None or metric != INSTRUCTIONS:
        plan = plan_study(session, name, study, request)
    facts = study_facts(session, plan) if plan else {}
    if dry_run:
        texts = [str(upgrade) if upgrade else "", render_study(facts) if plan else ""]
        show_dry_run("\n".join(filter(None, texts)), facts)
        return
    found = upgrade.compared(session) if upgrade else None
    tally, report, page = _measured(session, plan, facts) if plan else (Tally(), None, Path())
    if upgrade and found:
        timed = upgrade.timed(report) if report else ()
        page = upgrade.write(found, timed, session.paths.results, typed_command())
    if has_dots(session):
        update_site(session)
    emit_either(str(page), tally.facts() | {"report": str(page)})
    raise_if(failed(tally))


def _request(preset: str, refs: tuple[str, ...], axes: Mapping[str, Any]) -> StudyRequest:
    return StudyRequest(
        size=Size(preset),
        axes=Axes.asked(
            refs=refs or None,
            **{axis: axes[axis] or None for axis in _AXES},
            profiles=axes["configurations"] or None,
        ),
        repeats=axes["samples"],
        seconds=axes["seconds"],
        scales=parse_scales(axes["scales"]),
        settings=tuple(map(parse_setting, axes["settings"])),
        files=tuple(map(_file, axes["scripts"])),
    )


def _measured(
    session: Session, plan: StudyPlan, facts: Mapping[str, Any]
) -> tuple[Tally, StudyReport, Path]:
    """Measure *plan*; return the tally, and the report with its page."""
    for left in plan.skipped:
        say(f"not available: {left}")
    say(f"{facts['runs']} runs in all, about {duration(facts['about_seconds'])}; {facts['disk']}")
    tally, report, page = run_study(session, plan)
    say(summary(tally))
    return tally, report, page


def render_study(facts: Mapping[str, Any]) -> str:
    """Return the facts of a plan as text."""
    builds = facts["builds"]
    missing = [target for target, built in builds.items() if not built]
    machine = facts["machine"]
    lines = [
        f"study {facts['study']}, {facts['size']}: {facts['about']}",
        f"  machine  {machine['name']}, {machine['cores']} cores, "
        f"{machine['memory_bytes'] / 2**30:.1f} GiB",
        f"  builds   {len(builds)}, of which {len(missing)} are not made yet"
        + (f": {' '.join(missing)}" if missing else ""),
        f"  runs     {facts['runs']} of {facts['seconds']} s "
        f"({facts['repeats']} of each of {facts['points']} points), "
        f"about {duration(facts['about_seconds'])}",
        f"  disk     {facts['disk']}",
        f"  memory   {facts['memory_bytes'] / 2**30:.2f} GiB at most, for the servers of one run",
    ]
    for part in facts["parts"]:
        lines += ["", f"part {part['name']}: {' '.join(part['targets'])}"]
        lines += _ablation_lines(part["ablation"])
        lines += cells_text(part["cells"])
    if facts["left"]:
        lines += ["", "not available:"]
        lines += [f"  {one['part']}: {one['what']}: {one['reason']}" for one in facts["left"]]
    return "\n".join(lines)


def _ablation_lines(facts: Mapping[str, Any] | None) -> list[str]:
    """Return what telling settings apart takes, and what it would take one at a time."""
    if facts is None or facts["screen"] is None:
        return []
    number, rows = len(facts["settings"]), facts["screen"]
    lines = [f"  {number} settings, screened by {rows} profiles: each run tells of all of them"]
    # 4 of the runs one at a time tell of a setting, all of these do
    times = f"each measured {rows / 4:g} times as often"
    lines.append(
        f"  (one at a time: {facts['one_at_a_time']} profiles, and for intervals as narrow {times})"
    )
    return lines


def parse_setting(word: str) -> NameValue:
    """Return the name and value of the setting *word*; UsageError if it is none."""
    name, sign, value = word.partition("=")
    if not name or bool(sign) != bool(value):
        raise UsageError(
            f'"{word}" is not a setting',
            hint="Write NAME=VALUE, or NAME alone for the value that tuned has.",
        )
    return name, value or None


def _file(word: str) -> tuple[Path, int]:
    # as pgbench's own -f has it
    name, sign, weight = word.rpartition("@")
    if not sign:
        return Path(word), 1
    if not name or not weight.isdecimal() or int(weight) < 1:
        raise UsageError(f'"{word}" is not a file with its weight', hint="Write FILE@WEIGHT.")
    return Path(name), int(weight)
