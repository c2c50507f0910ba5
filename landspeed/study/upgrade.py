"""The report of an upgrade: what becomes slower or faster, why, and what gives it back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean
from typing import Self

from base.build import Variant
from base.errors import UsageError
from base.files import canonical_json, read_json, write_atomic
from benchmarks.workloads.catalog import Workload, choose, named
from landspeed.campaign.patch import Sides
from landspeed.campaign.suite_compare import SuiteChange, SuiteComparison, compare_suite
from landspeed.campaign.suite_report import causes_of, label_of, suite_notes
from landspeed.compare.verdict import COUNTED_DIFFERENCE
from landspeed.console.format import change, counted, percent
from landspeed.console.markdown import code, markdown_table
from landspeed.session.session import Session
from landspeed.session.target import parse_targets
from landspeed.site.pages.report_page import FACTS, MARKDOWN, PAGE, read_reports, report_page
from landspeed.study.report import StudyReport, table_sections
from landspeed.study.schema import OldSetting, Study

UPGRADE = "upgrade"
"""The directory of the reports, see REPORTS of landspeed.site.pages.frame."""

_EXAMPLES = 3
_NO_WAY = OldSetting(name="", how="", price="See the release notes.")


@dataclass(frozen=True, kw_only=True)
class Upgrade:
    """Two servers, the workloads to count on both, and the study that was asked for."""

    study: Study
    sides: Sides
    workloads: tuple[Workload, ...]

    @classmethod
    def of(cls, study: Study, refs: Sequence[str], suite: str | None) -> Self | None:
        """Return the upgrade between *refs*, or the study's own; None if it counts no suite.

        *suite* replaces the study's.
        """
        if study.suite is None:
            return None
        targets = parse_targets(refs or study.part[0].refs or (), Variant())
        if len(targets) != 2:
            raise UsageError(
                "an upgrade is from one server to another",
                hint='Name two, such as "landspeed study upgrade 17 18".',
            )
        before, after = targets
        return cls(
            study=study,
            sides=Sides(before=before, after=after),
            workloads=tuple(choose((), suite or study.suite)),
        )

    def __str__(self) -> str:
        total = counted(len(self.workloads), "workload")
        return f"would count {total} on {self.sides.before} and {self.sides.after}"

    def compared(self, session: Session) -> SuiteComparison:
        """Count what is not recorded yet; MeasureError if nothing can be counted."""
        return compare_suite(session, self.sides, self.workloads, COUNTED_DIFFERENCE)

    def timed(self, report: StudyReport) -> list[str]:
        """Return the tables of *report* as sections that compare with the first server."""
        first = {"against": report.names.get(self.sides.before.ref)}
        tables = (one.model_copy(update=first) for one in self.study.table)
        return [text for table in tables for text in table_sections(report, table)]

    def write(
        self, found: SuiteComparison, timed: Sequence[str], results: Path, command: str
    ) -> Path:
        """Write the report of *found* below *results*, and the list of reports; return its page.

        *timed* are sections on what was timed; *command* is what a person typed.
        """
        reports = results / UPGRADE
        name = f"{found.before}-{found.after}".replace(" ", "-")
        sections = upgrade_sections(found, self.study.setting, timed, command)
        text = "\n\n".join(sections) + "\n"
        write_atomic(reports / name / MARKDOWN, text)
        write_atomic(reports / name / FACTS, canonical_json(found.facts()))
        title = f"From {found.before} to {found.after}"
        write_atomic(reports / name / PAGE, report_page(name, title, text, below=UPGRADE))
        _write_list(reports)
        return reports / name / PAGE


def _write_list(reports: Path) -> None:

    def row(path: Path) -> tuple[str, ...]:
        facts = read_json(path)
        slower = sum(one["ratio"] > 1 for one in facts["changes"])
        link = f"[{facts['before']} to {facts['after']}]({path.parent.name}/{PAGE})"
        faster = len(facts["changes"]) - slower
        return link, str(facts["same"]), str(slower), str(faster)

    rows = read_reports("an upgrade", reports, "*", row)
    titles = ("upgrade", "workloads the same", "slower", "faster")
    text = "# Upgrade reports\n\n`landspeed study upgrade 17 18` writes one.\n\n"
    text += markdown_table(titles, rows, align="lr")
    write_atomic(reports / PAGE, report_page("", "Upgrade reports", text, below=UPGRADE))


def upgrade_sections(
    found: SuiteComparison, settings: Sequence[OldSetting], timed: Sequence[str], command: str
) -> Iterator[str]:
    """Yield the sections of the report of *found* as Markdown; see Upgrade.write."""
    slower = [one for one in found.changes if one.ratio > 1]
    faster = [one for one in found.changes if one.ratio < 1]
    yield f"# From {found.before} to {found.after}"
    yield _summary(found, slower, faster)
    yield "## What gives the old behaviour back"
    yield from _given_back(found, settings)
    for title, some in (("Slower", slower), ("Faster", faster)):
        if some:
            yield f"## {title}"
            yield _table(some)
    yield from timed
    yield "## Method"
    yield (
        f"Each number is the instructions of one execution, counted under valgrind: it repeats to "
        f"0.1 % on any machine. Workloads less than {percent(found.size)} apart are the same. "
        "Instructions are not time: waiting for storage, for locks and for other clients costs "
        "none. *Default*, *plan* and *code* are told apart by counting the new release again with "
        "the old defaults, and then with the old plans; a change that remains is the code's, with "
        "the functions that execute most of it."
    )
    yield from suite_notes(found, code)
    yield f"    {command}"


def _summary(
    found: SuiteComparison, slower: Sequence[SuiteChange], faster: Sequence[SuiteChange]
) -> str:
    total = found.same + len(found.changes)
    ratios = [one.ratio for one in found.changes] + [1.0] * found.same
    verb = "executes" if len(slower) == 1 else "execute"
    parts = [
        f"**Of {counted(total, 'workload')}, {len(slower)} {verb} more instructions in "
        f"{found.after}, {len(faster)} fewer, and {found.same} the same; on average "
        f"{change(geometric_mean(ratios))}.**"
    ]
    for word, some in (("more", slower), ("fewer", faster)):
        if some:
            largest = ", ".join(
                f"{label_of(one)} {change(one.ratio)} ({one.kind})" for one in some[:_EXAMPLES]
            )
            parts.append(f"Most {word}: {largest}.")
    return " ".join(parts)


def _given_back(found: SuiteComparison, settings: Sequence[OldSetting]) -> Iterator[str]:
    known = {one.name: one for one in settings}
    effects: dict[str, list[tuple[SuiteChange, float]]] = {}
    for one in found.changes:
        for part in one.parts:
            if part.settings:
                effects.setdefault(", ".join(part.settings), []).append((one, part.ratio))
    if not effects:
        yield "No setting: nothing that changed goes with a default, or with a plan's settings."
        return
    for spelled, some in effects.items():
        some.sort(key=lambda pair: -abs(pair[1] - 1))
        ways = [known.get(word.partition("=")[0], _NO_WAY) for word in spelled.split(", ")]
        shown = [
            f"{label_of(one)}: {change(one.ratio)} becomes {change(one.ratio / ratio)}"
            for one, ratio in some[:_EXAMPLES]
        ]
        if len(some) > _EXAMPLES:
            shown.append(f"{len(some) - _EXAMPLES} more")
        how = "; ".join(dict.fromkeys(way.how for way in ways if way.how)) or "postgresql.conf"
        price = " ".join(
            dict.fromkeys(f"{way.price}{f' <{way.see}>' if way.see else ''}" for way in ways)
        )
        yield f"- **{code(spelled)}** ({how})\n  - {'; '.join(shown)}\n  - Price: {price}"


def _table(changes: Sequence[SuiteChange]) -> str:
    rows = [
        (
            change(one.ratio),
            code(label_of(one)),
            named(one.workload).title,
            ", ".join(part.kind.value for part in one.parts),
            causes_of(one, code),
        )
        for one in changes
    ]
    return markdown_table(("change", "workload", "what it does", "kind", "cause"), rows, align="rl")
