"""Words of others in our Markdown: commit subjects and names may hold anything. Pure.

GitHub makes links, mentions and references of text wherever it stands, except in code. So what
is not ours is put into a code span that it cannot end, on one line.
"""

from __future__ import annotations

import re
import unicodedata

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


def cell(text: str, *, longest: int = _LONGEST) -> str:
    """*text* as a code span in a table, where a bar would end the cell even within code.

    A backslash before a bar is left out: it would be taken for the bar's escape, or its end.
    """
    return _BAR.sub(r"\\|", code(text, longest=longest))
