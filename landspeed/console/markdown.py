"""Words of others in our Markdown: commit subjects and names may hold anything. Pure.

GitHub makes links, mentions and references of text wherever it stands, except in code. So what
is not ours is put into a code span that it cannot end, on one line.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

_RUN = re.compile(r"`+")
_BAR = re.compile(r"\\*\|")
_LONGEST = 200


def plain(text: str, *, longest: int = _LONGEST) -> str:
    """*text* on one line, without characters that cannot be seen or that turn the writing round.

    It is cut to *longest* characters.
    """
    line = " ".join(text.split())
    seen = "".join(c for c in line if c == " " or unicodedata.category(c)[0] not in "CZ")
    return seen if len(seen) <= longest else f"{seen[: longest - 1]}…"


def code(text: str, *, longest: int = _LONGEST) -> str:
    """*text* as a code span: no mention, reference, link or HTML in it is one (CommonMark 6.1)."""
    inner = plain(text, longest=longest)
    if not inner:
        return ""
    fence = "`" * (max(map(len, _RUN.findall(inner)), default=0) + 1)
    # a span that begins or ends with a backtick needs a space, which is not shown
    pad = " " if inner.startswith("`") or inner.endswith("`") else ""
    return f"{fence}{pad}{inner}{pad}{fence}"


def code_block(text: str) -> str:
    """Return the lines of *text* as a code block that nothing in it can end."""
    fence = "`" * max(3, 1 + max(map(len, _RUN.findall(text)), default=0))
    return f"{fence}\n{text}\n{fence}"


def markdown_table(
    titles: Sequence[str], rows: Iterable[Sequence[str]], *, align: str = "l"
) -> str:
    """Return a table whose cells are Markdown on one line.

    *align* has a letter for each column, ``l`` or ``r``; its last letter holds for all columns
    that remain. A bar in a cell is escaped, within code too. Backslashes before a bar are left
    out, because GitHub would take them for the escape of the bar or for its end.
    """
    rules = ("---" if one == "l" else "---:" for one in align.ljust(len(titles), align[-1]))
    return "\n".join((_row(titles), f"|{'|'.join(rules)}|", *map(_row, rows)))


def _row(cells: Sequence[str]) -> str:
    escaped = (_BAR.sub(r"\\|", cell) for cell in cells)
    return f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in escaped)}|"
