"""The one table for terminals: no borders, aligned columns, never cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.table import Table


def rich_table(titles: Sequence[str], rows: Iterable[Sequence[str]], *, align: str = "l") -> Table:
    """Return a Rich table of *rows* whose cells are never wrapped or cut.

    *align* has a letter for each column, ``l`` or ``r``; its last letter holds for all columns
    that remain.
    """
    drawn = Table(box=None, pad_edge=False, header_style="bold")
    for title, letter in zip(titles, align.ljust(len(titles), align[-1]), strict=False):
        drawn.add_column(title, justify="left" if letter == "l" else "right", no_wrap=True)
    for row in rows:
        drawn.add_row(*row)
    return drawn
