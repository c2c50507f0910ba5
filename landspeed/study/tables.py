"""The tables of a study's report, as Markdown. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.workloads.metrics import metric_named
from landspeed.console.format import number
from landspeed.console.markdown import markdown_table, plain
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
        line = [*map(str, key), str(found.count), *map(number, numbers)]
        if base:
            is_base = str(key[0]) == table.against
            ratio = None if is_base else Ratio.of(group, _base(table, key, groups), metric.column)
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
        found = [Ratio.of(*pair, column) for pair in pairs]
        apart = [Ratio.of_ratios(pair, pairs[0], column) for pair in pairs[1:]]
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
