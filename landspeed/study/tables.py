"""The tables and the words of a study's report, as Markdown. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from benchmarks.workloads.metrics import metric_named
from landspeed.console.format import number
from landspeed.console.markdown import markdown_table, plain
from landspeed.study.ablation import Ablation
from landspeed.study.effects import SURE, Attribution, ScreeningResult, StudyContext
from landspeed.study.plots import axis_name
from landspeed.study.samples import Ratio, StudyRow, Value, grouped, summary
from landspeed.study.schema import TableExhibit

_LONGEST = 500  # characters of a cell
_STATISTICS = ("average", "± stddev", "min", "median", "max")


def study_table(titles: Sequence[str], lines: Iterable[Sequence[str]], words: int) -> str:
    """Return a Markdown table whose first *words* columns hold words, the others numbers.

    Cells are put on one line and cut to 500 characters.
    """
    rows = ([plain(cell, longest=_LONGEST) for cell in line] for line in lines)
    shown = [plain(title, longest=_LONGEST) for title in titles]
    return markdown_table(shown, rows, align="l" * words + "r")


def exhibit(table: TableExhibit, rows: Sequence[StudyRow]) -> list[tuple[str, str]]:
    """Return the heading and the Markdown of each table of *table*; none without rows."""
    found = []
    for key, group in grouped(rows, table.each).items():
        medians = _ratios if _has_base(table, group) else _matrix
        make = medians if table.columns else _statistics
        found.append((heading_of(table.each, key), make(table, group)))
    return found


def heading_of(axes: Sequence[str], values: Sequence[Value]) -> str:
    """Return the heading of the runs with these *values* on *axes*."""
    return ", ".join(f"{axis_name(a)} {v}" for a, v in zip(axes, values, strict=True))


def caption(table: TableExhibit, rows: Sequence[StudyRow]) -> str:
    """Return the caption that explains the numbers in *table*."""
    unit = metric_named(table.metric).unit
    if not table.columns:
        return f"Runs, in {unit}."
    if not _has_base(table, rows):
        return f"Medians, in {unit}."
    return (
        f"Changes of {unit} compared with {table.against}, 95 % intervals, by "
        f"{axis_name(table.columns)}. The last columns compare these changes with the first one: "
        "an interval that includes 0 shows no difference."
    )


def _has_base(table: TableExhibit, rows: Sequence[StudyRow]) -> bool:
    return any(str(row.axes[table.rows[0]]) == table.against for row in rows)


def _statistics(table: TableExhibit, rows: Sequence[StudyRow]) -> str:
    metric = metric_named(table.metric)
    groups = grouped(rows, table.rows)
    base = next((g for key, g in groups.items() if str(key[0]) == table.against), None)
    against = [f"change from {table.against}, 95 %"] if base else []
    titles = [*map(axis_name, table.rows), "runs", *_STATISTICS, *against]
    lines = []
    for key, group in groups.items():
        found = summary(group, metric.column)
        if found is None:
            continue
        numbers = (found.mean, found.stddev, found.minimum, found.median, found.maximum)
        line = [*map(str, key), str(found.runs), *map(number, numbers)]
        if base:
            is_base = str(key[0]) == table.against
            ratio = None if is_base else Ratio.of(metric.column, group, _base(table, key, groups))
            line.append(str(ratio or "-"))
        lines.append(line)
    return study_table(titles, lines, len(table.rows))


def _matrix(table: TableExhibit, rows: Sequence[StudyRow]) -> str:
    axis, column = table.columns or "", metric_named(table.metric).column
    values = [key[0] for key in grouped(rows, [axis])]
    lines = []
    for key, group in grouped(rows, table.rows).items():
        cells = {k[0]: summary(g, column) for k, g in grouped(group, [axis]).items()}
        found = [cells.get(value) for value in values]
        lines.append([*map(str, key), *(number(one.median) if one else "-" for one in found)])
    first = " / ".join(map(axis_name, table.rows)) + f" \\ {axis_name(axis)}"
    titles = [first, *[""] * (len(table.rows) - 1), *map(str, values)]
    return study_table(titles, lines, len(table.rows))


def _ratios(table: TableExhibit, rows: Sequence[StudyRow]) -> str:
    """Return the changes from ``against`` by column, and each compared with the first."""
    axis, column = table.columns or "", metric_named(table.metric).column
    values = [key[0] for key in grouped(rows, [axis])]
    groups = grouped(rows, [*table.rows, axis])
    lines = []
    for key in grouped(rows, table.rows):
        if str(key[0]) == table.against:
            continue
        pairs = [
            (groups.get((*key, value), []), _base(table, (*key, value), groups)) for value in values
        ]
        found = [Ratio.of(column, *pair) for pair in pairs]
        apart = [Ratio.of(column, *pair, *pairs[0]) for pair in pairs[1:]]
        lines.append([*map(str, key), *(str(one or "-") for one in (*found, *apart))])
    first, *others = map(str, values)
    titles = [*map(axis_name, table.rows), first, *others, *(f"{v} / {first}" for v in others)]
    return study_table(titles, lines, len(table.rows))


def _base(
    table: TableExhibit, key: tuple[Value, ...], groups: dict[tuple[Value, ...], list[StudyRow]]
) -> list[StudyRow]:
    """Return the group that differs from *key* in the first axis only; empty if there is none."""
    return next(
        (g for k, g in groups.items() if str(k[0]) == table.against and k[1:] == key[1:]), []
    )


def ranking_table(ranking: Attribution) -> str:
    """Return a table of each setting's effect in each context, the largest first."""
    p = ["p, Holm's"] if ranking.screened else []
    lines = []
    for setting in ranking.settings:
        found = [ranking.effect(setting, context) for context in ranking.contexts]
        line = [setting, *(str(one.ratio) if one else "-" for one in found)]
        averaged = ranking.effect(setting, StudyContext.AVERAGED)
        lines.append([*line, _p(averaged.p if averaged else None)] if p else line)
    titles = ["setting", *(f"{context}, 95 %" for context in ranking.contexts), *p]
    return study_table(titles, lines, 1)


def ranking_text(ranking: Attribution, ablation: Ablation) -> Iterator[str]:
    """Yield the paragraphs that explain a ranking."""
    if ranking.all_of_them is not None:
        yield f"All settings at once, compared with default: {ranking.all_of_them}."
    if ranking.screened is not None:
        yield _design(ablation)
        yield _intervals(ranking.screened)
        yield _interactions(ranking.screened)
    elif ablation.is_screened:
        yield (
            f"Too few of the {len(ablation.screen)} configurations of the screening design were "
            "measured to estimate effects."
        )
    if StudyContext.ALONE in ranking.contexts:
        yield (
            "Intervals of settings added to default, or to all others, are not corrected for their "
            "number: of twenty settings without effect, one appears to have one."
        )


def _design(ablation: Ablation) -> str:
    rows, number = len(ablation.screen), len(ablation.names)
    return (
        f"*Averaged over the others*: {rows} configurations, each with some of the {number} "
        "settings. Every setting is on in half of them, and every pair of settings in a quarter. "
        f"This is a Plackett–Burman design of {rows // 2} rows (Biometrika 33, 1946) and its "
        "mirror image (Box and Wilson, J. R. Stat. Soc. B 13, 1951); *Provenance* lists the "
        "configurations. Every run contributes to the estimate of every setting. One setting at a "
        f"time, equally narrow intervals would take {len(ablation.one_at_a_time)} configurations, "
        f"each measured {rows / 4:g} times as often."
    )


def _intervals(screened: ScreeningResult) -> str:
    if not screened.freedom:
        return "A single round does not show the noise, so the effects have no intervals."
    number = len(screened.effects)
    return (
        "Effects are estimated by least squares on logarithms, with rounds as blocks. Intervals "
        "are Student's, from the variation between runs of one configuration beyond their rounds "
        f"({screened.freedom} degrees of freedom), and not corrected. *p* is corrected for "
        f"{number} settings (Holm, Scand. J. Stat. 6, 1979): at most {SURE:.0%} of such rankings "
        f"show any setting without effect below {SURE:g}."
    )


def _interactions(screened: ScreeningResult) -> str:
    """Explain interactions of settings, and what they add to the effects."""
    if screened.missing:
        clear = (
            f"{screened.missing} of its configurations have no run: the interaction of two "
            "settings may be part of the effect of a third."
        )
    else:
        clear = (
            "The effects are free of interactions of two settings, but not of three. The design "
            "cannot show which two settings interact."
        )
    if screened.together is None:
        return clear
    more = (
        "the effect of a setting depends on others, and the effect shown is an average over them"
        if screened.together < SURE
        else "nothing shows that the effect of a setting depends on others"
    )
    chance = _p(screened.together).replace("<", "< ")
    sign = "" if chance.startswith("<") else "= "
    return f"{clear} Here {more} (p {sign}{chance}, by {screened.beyond} contrasts)."


def _p(value: float | None) -> str:
    if value is None:
        return "-"
    return "<0.001" if value < 0.001 else f"{value:.3f}"
