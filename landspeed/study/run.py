"""Run a study: a campaign, as in ``landspeed run``, then the report."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

from base.files import read_json, write_atomic
from benchmarks.clients.pgbench import Pgbench
from benchmarks.workloads.points import Point, digests_of
from landspeed.campaign.campaign import Campaign, Tally
from landspeed.console.markdown import code
from landspeed.sampling.sampler import comparable_runs
from landspeed.session.session import Session
from landspeed.site.pages.frame import STUDIES
from landspeed.site.pages.report_page import PAGE, read_reports, report_page
from landspeed.study.plan import StudyPlan, on_one_line
from landspeed.study.report import StudyReport, write_report
from landspeed.study.samples import rows
from landspeed.study.tables import study_table


def run_study(session: Session, plan: StudyPlan) -> tuple[Tally, StudyReport, Path]:
    """Measure what *plan* lacks, write the report and return it with its page."""
    requests = [part.request for part in plan.parts]
    campaign = Campaign(session=session, requests=requests, publish=None)
    tally = campaign.run()
    report = _report(session, plan, campaign)
    reports = session.paths.results / STUDIES
    page = write_report(report, reports / plan.name / plan.request.size.value)
    write_index(reports)
    return tally, report, page


def _report(session: Session, plan: StudyPlan, campaign: Campaign) -> StudyReport:
    parts = []
    for planned, builds in zip(plan.parts, campaign.builds, strict=True):
        cells = [one.cell for one in planned.cells if one.reason is None]
        parts.append([Point(build=build, cell=cell) for build in builds for cell in cells])
    pgbench, digests = Pgbench(build=session.pgbench_build()), digests_of(chain(*parts))
    comparable = comparable_runs(session, pgbench, plan.preset.seconds, digests)
    table = comparable.of(session.records.table())
    named = zip((planned.part.name for planned in plan.parts), parts, strict=True)
    found = [row for name, points in named for row in rows(name, points, table)]
    ids = list({row.scalars["id"]: 0 for row in found})
    return StudyReport(
        plan=plan,
        machine=session.machine,
        rows=found,
        records={record.id: record for record in session.records.records(ids)},
        names={target.ref: build.origin.name for target, build in campaign.made.items()},
        errors=list(dict.fromkeys(map(on_one_line, campaign.tally.errors))),
    )


def write_index(reports: Path) -> Path | None:
    """Write the list of the reports below *reports*; None if there are none."""

    def line(path: Path) -> list[str]:
        facts = read_json(path)
        link = f"[{facts['title']}]({path.parent.relative_to(reports).as_posix()}/{PAGE})"
        machine = code(str(facts["machine"]))
        return [link, str(facts["size"]), machine, str(facts["runs"]), str(facts["last"])]

    titles = ("study", "size", "machine", "runs", "newest run")
    # a directory whose name begins with a dot is left by a command that was killed
    lines = list(read_reports("a study", reports, "[!.]*/[!.]*", line))
    if not lines:
        return None
    text = "# Studies\n\n`landspeed study NAME` measures a study and writes its report.\n\n"
    text += study_table(titles, lines, 5)
    write_atomic(reports / PAGE, report_page("", "Studies", text))
    return reports / PAGE
