"""The words of the house: one spelling of each noun, and none of the private ones of old."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache

import pytest

from tests.project.test_house import PROJECT, modules, public

SPELLINGS = {
    r"change[- ]points?": "changepoint",
    r"flame-?graphs?": "flame graph",
    r"time[- ]outs?": "timeout",
    r"check[- ]points?(?! out)": "checkpoint",
    r"back[- ]ends?": "backend",
    r"auto[- ]vacuum": "autovacuum",
    r"work[- ]loads?": "workload",
    r"block-?sizes?": "block size",
    r"p values?": "p-value",
    r"c-groups?": "cgroup",
    r"kept trees?": "incremental tree",
    r"ledgers?": "A/A rates, false alarms",
    r"pitfalls?": "warning",
    r"rungs?": "number of clients",
    r"twins?": "identical build",
    r"tidings|inquests?|fortunes|quests?|agendas?|imprints?|data rooms?": "an ordinary word",
}
"""What prose does not say, and what it says instead. Case does not matter."""
PROPER_NAMES = {"Postgres": "PostgreSQL", "Github": "GitHub", "Pgbench": "pgbench"}
PRIVATE_NOUNS = (
    *("Agenda", "Basis", "Belief", "Caution", "Company", "Contender", "Contest", "Course"),
    *("DataRoom", "Deed", "Fate", "Fortune", "Inquest", "Inquiry", "Keep", "KeptTree", "Ladder"),
    *("Ledger", "Nomination", "Oltp", "Pitfall", "Prices", "Quest", "Rung", "Survey", "Tidings"),
    *("Told", "Trap", "Twin", "Wish", "Workshop"),
)
"""Names that classes had and prose wrote with a capital, as if they were terms of the field."""
_BLOCK = re.compile(r"^```.*?^```|^ {4}[^\n]*$", re.M | re.S)
_CODE = re.compile(r"``[^`]+``|`[^`\n]+`|\]\([^)]*\)|(?<!\*)\*\w+\*(?!\*)")
GLOSSARY_ROWS = 30


def pages() -> Iterator[tuple[str, str]]:
    """Name and prose of every page of documentation, without code and the targets of links."""
    for path in (PROJECT / "README.md", PROJECT / "CONTRIBUTING.md", *PROJECT.glob("docs/*.md")):
        yield path.name, _CODE.sub(" ", _BLOCK.sub(" ", path.read_text()))


@cache
def prose() -> dict[str, str]:
    """What people read, by where it stands: pages, docstrings, comments, and texts of the program.

    A text of the program is a string with two spaces or more, so keys and names are not meant.
    """
    found = dict(pages())
    for name, tree in modules().items():
        for node in ast.walk(tree):
            text = node.value if isinstance(node, ast.Constant) else None
            if isinstance(text, str) and text.count(" ") > 1:
                found[f"{name}:{node.lineno}"] = _CODE.sub(" ", text)
        source = (PROJECT / name.replace(".", "/")).with_suffix(".py")
        source = source if source.exists() else source.with_suffix("") / "__init__.py"
        for token in tokenize.generate_tokens(io.StringIO(source.read_text()).readline):
            if token.type == tokenize.COMMENT:
                found[f"{name}:{token.start[0]}#"] = _CODE.sub(" ", token.string)
    return found


@pytest.mark.parametrize("wrong", SPELLINGS)
def test_a_noun_is_spelled_one_way(wrong):
    pattern = re.compile(rf"(?<![\w./_-])(?:{wrong})(?![\w/_=-]|\.\w)", re.I)
    places = [f'{place} says "{m[0]}"' for place, t in prose().items() for m in pattern.finditer(t)]
    assert places == [], f'write "{SPELLINGS[wrong]}"'


def test_proper_names_are_written_as_their_owners_do():
    pattern = re.compile(rf"\b(?:{'|'.join(PROPER_NAMES)})\b")
    assert [place for place, text in prose().items() if pattern.search(text)] == []


def test_no_private_noun_of_old_is_a_class_or_a_capitalised_word():
    classes = {node.name for _, node in public(ast.ClassDef)}
    assert classes & set(PRIVATE_NOUNS) == set()
    pattern = re.compile(rf"[a-z,] (?:{'|'.join(PRIVATE_NOUNS)})s?\b")
    assert [place for place, text in prose().items() if pattern.search(text)] == []


def test_the_glossary_is_short_and_names_packages_that_exist():
    rows = re.findall(
        r"^\| ([A-Z][\w, ]*) \| .*\. \| `([\w/]+)` \|$",
        (PROJECT / "docs/glossary.md").read_text(),
        re.M,
    )
    assert 20 <= len(rows) <= GLOSSARY_ROWS
    assert [package for _, package in rows if not (PROJECT / package).is_dir()] == []
