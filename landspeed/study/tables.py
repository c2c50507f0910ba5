"""The tables of a Study's report, as Markdown. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.asv_names import metric_named
from landspeed.markup import plain
from landspeed.study.definition import TableExhibit
from landspeed.study.plots import axis_name
from landspeed.study.samples import Ratio, StudyRow, Summary, Value, grouped

_LONGEST = 500  # characters of a cell
_STATISTICS = ("average", "± stddev", "min", "median", "max")


def markdown_table(titles: Sequence[str], lines: Iterable[Sequence[str]], words: int) -> str:
    """A table in Markdown whose first *words* columns are words, the others numbers."""
    marks = ["---" if i < words else "---:" for i in range(len(titles))]
    return "\n".join(_row(line) for line in (titles, marks, *lines))


def _row(cells: Sequence[str]) -> str:
    return (
        "| "
        + " | ".join(plain(cell, longest=_LONGEST).replace("|", "\\|") for cell in cells)
        + " |"
    )


def exhibit(table: TableExhibit, rows: Sequence[StudyRow]) -> list[tuple[str, str]]:
    """The tables of *table*: what each is of, and its Markdown; none where there are no rows."""
    found = []
    for key, group in grouped(rows, table.each).items():
        make = _matrix if table.columns else _statistics
        found.append((heading_of(table.each, key), make(table, group)))
    return found


def heading_of(axes: Sequence[str], values: Sequence[Value]) -> str:
    """What those Runs are called that have these *values* on *axes*."""
    return ", ".join(f"{axis_name(a)} {v}" for a, v in zip(axes, values, strict=True))


def _statistics(table: TableExhibit, rows: Sequence[StudyRow]) -> str:
    metric = metric_named(table.metric)
    groups = grouped(rows, table.rows)
    base = next((g for key, g in groups.items() if str(key[0]) == table.against), None)
    against = [f"to {table.against}, 95 %"] if base else []
    titles = [*map(axis_name, table.rows), "runs", *_STATISTICS, *against]
    lines = []
    for key, group in groups.items():
        found = Summary.of(group, metric.column)
        if found is None:
            continue
        numbers = (found.average, found.deviation, found.minimum, found.median, found.maximum)
        ratio = _ratio(table, key, group, groups, metric.column) if base else []
        lines.append([*map(str, key), str(found.count), *map(number, numbers), *ratio])
    return markdown_table(titles, lines, len(table.rows))


def _ratio(
    table: TableExhibit,
    key: tuple[Value, ...],
    group: Sequence[StudyRow],
    groups: dict[tuple[Value, ...], list[StudyRow]],
    column: str,
) -> list[str]:
    """How *group* relates to the one that is as it but for the first axis."""
    base = next(
        (g for k, g in groups.items() if str(k[0]) == table.against and k[1:] == key[1:]), None
    )
    if base is None or str(key[0]) == table.against:
        return ["-"]
    ratio = Ratio.of(group, base, column)
    return [str(ratio) if ratio else "-"]


def _matrix(table: TableExhibit, rows: Sequence[StudyRow]) -> str:
    axis, column = table.columns or "", metric_named(table.metric).column
    values = [key[0] for key in grouped(rows, [axis])]
    lines = []
    for key, group in grouped(rows, table.rows).items():
        cells = {k[0]: Summary.of(g, column) for k, g in grouped(group, [axis]).items()}
        found = [cells.get(value) for value in values]
        lines.append([*map(str, key), *(number(one.median) if one else "-" for one in found)])
    first = " / ".join(map(axis_name, table.rows)) + f" \\ {axis_name(axis)}"
    titles = [first, *[""] * (len(table.rows) - 1), *map(str, values)]
    return markdown_table(titles, lines, len(table.rows))


def number(value: float | None) -> str:
    """*value* with four significant digits or all before the point."""
    if value is None:
        return "-"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"
