"""Tables for terminals: no borders, aligned columns, never cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import StringIO

from rich.console import Console, RenderableType
from rich.table import Table

_WIDTH = 1000  # columns, so that nothing is wrapped


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


def as_text(drawn: RenderableType) -> str:
    """Return *drawn* as plain lines that are never cut, so that ids in them can be copied."""
    stream = StringIO()
    # Texts of others may look like Rich's markup or its names of emoji; show them as they are.
    plain = Console(file=stream, width=_WIDTH, color_system=None, markup=False, emoji=False)
    plain.print(drawn)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())
