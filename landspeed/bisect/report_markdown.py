"""The report of a bisection as Markdown, to be pasted into an issue or a mail. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from benchmarks.workloads.cell_name import CellName
from landspeed.bisect.report import BisectReport, validated
from landspeed.bisect.sweep import SweepReport, sweep_markdown
from landspeed.console.format import change, counted, number, percent
from landspeed.console.markdown import code, markdown_table, plain
from landspeed.console.progress import duration

AnyReport = BisectReport | SweepReport
_LONGEST_LIST = 20
_LONGEST_COMMAND = 2000
_MOST_CONFIDENT = 0.9999


def markdown(report: BisectReport, *, level: int = 1) -> str:
    """Return *report* as Markdown whose first heading has *level*."""
    below = "#" * (level + 1)
    paragraphs = (
        [f"{'#' * level} {report.title}"],
        _answer(report),
        _verification(report),
        _culprit(report),
        _others(report, below),
        [f"{below} Where the cost changed", report.explanation] if report.explanation else [],
        [f"{below} Measurements", _measurements(report)],
        [f"{below} Method", *_method(report)],
        [f"{below} To reproduce", *_reproduce(report)],
    )
    return "\n\n".join(chain(*paragraphs))


def _answer(report: BisectReport) -> Iterator[str]:
    culprit, steps, kind = report.culprit, report.left, report.over
    changed = f"changed {report.metric} by {change(1 + report.change)}{_confidence(report)}"
    match report.answer:
        case "culprit" if culprit:
            yield f"**{culprit.name} {changed}.**"
        case "range" if culprit:
            steps = culprit.steps
            yield (
                f"**One of {counted(steps.count, kind.noun)}, {steps.first} to {steps.last}, "
                f"{changed}.** The {kind} between them cannot be built or measured, so they cannot "
                "be told apart."
            )
        case "no culprit":
            yield from _no_culprit(report)
        case "reversed":
            better, worse = ("worse", "better") if report.improvement else ("better", "worse")
            yield f"**BAD is {better} than GOOD{_confidence(report)}**, not {worse}.{_ends(report)}"
        case "refuted" if culprit:
            fresh = "counts" if report.exact else "runs"
            drift = "" if report.exact else " The machine may have changed during the search."
            yield (
                f"**Undecided.** The search found {culprit.name}, but on fresh {fresh} it does not "
                f"differ from its parent as expected.{drift}"
            )
        case _:
            yield (
                "**Undecided: the budget is spent.** If there is a change of that size, it is "
                f"most likely in one of {counted(steps.count, kind.noun)}, {steps.first} to "
                f"{steps.last}."
            )


def _no_culprit(report: BisectReport) -> Iterator[str]:
    size, sure, ends = percent(report.size), _confidence(report), report.ends
    if ends and abs(ends[1].median / ends[0].median - 1) >= report.size:
        yield (
            f"**No single {report.over.noun} changed {report.metric} by {size} or more{sure}.**"
            f"{_ends(report)} The change may be spread over several {report.over}."
        )
        return
    yield f"**GOOD and BAD do not differ by {size} or more{sure}.**{_ends(report)}"
    if report.smaller:
        smaller = f"{100 * report.smaller.size:.6g}%"
        yield (
            f"A bisection with `--size {smaller}` would look for this change; it takes about "
            f"{duration(report.smaller.seconds)}."
        )


def _ends(report: BisectReport) -> str:
    if report.ends is None:
        return ""
    good, bad = (end.median for end in report.ends)
    return f" GOOD has {number(good)} and BAD {number(bad)} {report.unit} ({change(bad / good)})."


def _confidence(report: BisectReport) -> str:
    if report.confidence is None:
        return ""
    if report.exact:
        return " (counted)"
    return f" (confidence {100 * min(report.confidence, _MOST_CONFIDENT):.2f} %)"


def _verification(report: BisectReport) -> Iterator[str]:
    found = report.verification
    if found is None:
        if report.culprit:
            yield "It was not compared with its parent, because no time was left."
        return
    digits = 5 if report.exact else 4
    how = (
        "Counts of the culprit and its parent"
        if report.exact
        else "Compared with its parent on fresh, interleaved runs"
    )
    interval = ""
    if found.interval:
        low, high = (f"{end:.{digits}f}" for end in found.interval)
        interval = f" [{low} to {high}{', from how well counts repeat' * report.exact}]"
    runs = "" if report.exact else f", {counted(found.runs, 'run')}"
    yield f"{how}: {found.verdict}, ratio {found.ratio:.{digits}f}{interval}{runs}."


def _culprit(report: BisectReport) -> Iterator[str]:
    culprit = report.culprit
    if culprit is None:
        return
    if culprit.steps.count > 1:
        steps = culprit.steps
        shown = (steps.candidates or ())[:_LONGEST_LIST]
        lines = [f"- {one.name} {one.date} {code(one.subject)}" for one in shown]
        if steps.count > len(shown):
            lines.append(f"- … {steps.count - len(shown)} more, up to {steps.last}")
        yield "\n".join(lines)
    elif culprit.author is not None:
        yield (
            f"    commit {culprit.ref}\n"
            f"    Author: {plain(culprit.author)} <{plain(culprit.email or '')}>\n"
            f"    Date:   {culprit.authored}\n\n"
            f"        {plain(culprit.subject)}"
        )
    else:
        yield f"    {plain(culprit.subject)}, {culprit.date}; after {culprit.parent.name}"
    if culprit.diffstat:
        yield "\n".join(f"    {line.strip()}" for line in culprit.diffstat.splitlines())


def _others(report: BisectReport, below: str) -> Iterator[str]:
    lines = [
        f"- {counted(span.count, report.over.noun)} after {span.after}, up to {span.last}"
        for span in report.others
    ]
    if lines:
        yield f"{below} More than one change"
        yield "One change alone does not explain the measurements. The level also changed within:"
        yield "\n".join(lines)


def _measurements(report: BisectReport) -> str:
    if not report.measurements:
        return "None."
    titles = ["#", report.over.noun, "date", "runs", f"median {report.unit}", "range"]
    rows = []
    for one in report.measurements:
        spread = f"{number(one.least)} – {number(one.most)}" if one.runs > 1 else ""
        row = [str(one.position), f"{one.name} {code(one.subject)}", one.date, str(one.runs)]
        against = "" if one.change is None else change(1 + one.change)
        rows.append([*row, number(one.median), spread, against])
    if report.exact:  # one run each
        titles[3:] = [report.unit]
        rows = [[*row[:3], row[4], row[6]] for row in rows]
    align = "rllr" if report.exact else "rllrrlr"
    return markdown_table([*titles, "against GOOD"], rows, align=align)


def _method(report: BisectReport) -> Iterator[str]:
    cell, machine = report.cell, report.machine
    noun = "count" if report.exact else "run"
    how = "counted by callgrind" if report.exact else f"runs of {report.seconds} s"
    lines = [
        f"{counted(report.runs, noun)} and {counted(report.builds, 'build')} among "
        f"{counted(report.candidates, report.over.noun)} in {duration(report.spent_seconds)}, "
        f"looking for a change of {percent(report.size)} or more.",
        f"pgbench {report.pgbench}, {cell.mode}, {cell.protocol}, {cell.tier} (scale "
        f"{cell.scale}), {counted(cell.clients, 'client')}, profile {cell.profile}, variant "
        f"{report.variant}; {how}.",
        f"Machine {machine.name}: {machine.cpu}, {counted(machine.cores, 'core')}.",
    ]
    if report.recorded:
        earlier = counted(report.recorded, f"earlier {noun}")
        lines.insert(1, f"{earlier} from the results were used as well.")
    yield "\n".join(lines)
    if report.skipped:
        yield f"Skipped {counted(len(report.skipped), report.over.noun)}:"
        names = [f"- {one.name}: {code(one.reason)}" for one in report.skipped[:_LONGEST_LIST]]
        more = len(report.skipped) - _LONGEST_LIST
        yield "\n".join([*names, f"- … {more} more"] if more > 0 else names)


def _reproduce(report: BisectReport) -> Iterator[str]:
    commands = [plain(report.command, longest=_LONGEST_COMMAND)]
    if report.culprit:
        verb = "explain" if report.exact else f"compare --metric {report.metric}"
        variant = "" if report.variant == "bs8" else f":{report.variant}"
        ends = f"{report.culprit.parent.name}{variant} {report.culprit.name}{variant}"
        commands.append(f"landspeed {verb} {ends} --scenario {CellName.of(vars(report.cell))}")
    yield "\n".join(["```sh", *commands, "```"])
    yield f"Journal: `{report.state}`. Every run is kept as a raw record."


def reports_markdown(reports: Sequence[AnyReport]) -> str:
    """Return the reports of one bisection as Markdown."""
    return "\n\n".join(
        markdown(one) if isinstance(one, BisectReport) else sweep_markdown(one) for one in reports
    )


def parse_reports(facts: Any) -> list[AnyReport]:
    """Return the reports in the parsed output of ``landspeed bisect --json``, at least one.

    RecordError if it is something else.
    """
    if isinstance(facts, dict) and "order" in facts:
        return [validated(SweepReport, facts)]
    listed = facts if isinstance(facts, list) and facts else [facts]
    return [validated(BisectReport, one) for one in listed]
