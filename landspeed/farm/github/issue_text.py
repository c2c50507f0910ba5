"""The text of a regression's issue: what happened, where, by how much and how certain it is.

Text from commits stands in code spans, so that it mentions nobody and refers to nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Self

from base.build import Origin
from base.files import digest_text
from landspeed.bisect.report_markdown import markdown
from landspeed.changepoints.changepoint import Changepoint
from landspeed.console.format import change, number
from landspeed.console.markdown import code, markdown_table
from landspeed.farm.github.regressions import Regression, Span
from landspeed.results.series import PlaceOf
from landspeed.session.target import Target

_NAME = r"[0-9A-Za-z.]+"
_FULL_HASH = re.compile(r"[0-9a-f]{40,64}")
_MARK = re.compile(
    rf"<!-- landspeed-regression line=([0-9a-f]{{12}}) after=({_NAME}) to=({_NAME}) -->"
)
_MOST_CHARACTERS = 60_000  # GitHub accepts 65,536.
_SUBJECT_CHARACTERS = 60
_COLUMNS = ("machine", "variant", "scenario", "metric", "before", "after", "change", "interval")

SubjectOf = Callable[[str], str]
"""Returns the subject of a commit by its full hash; empty for a release or an unknown commit."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """The HTML comment by which an issue names its regression.

    ``line``: A digest of the line's name: a branch's name can hold anything, ``-->`` too.
    ``after``: The last revision that did not cause it, as `Span.before`.
    ``to``: The last revision that may have caused it, as `Span.last`.
    """

    line: str
    after: str
    to: str

    @classmethod
    def of(cls, span: Span) -> Self:
        """Return the mark of a regression in *span*."""
        return cls(line=_digest(span.line), after=span.before, to=span.last)

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Return the mark in the *text* of an issue; None if it has none."""
        found = _MARK.search(text)
        return cls(line=found[1], after=found[2], to=found[3]) if found else None

    def __str__(self) -> str:
        return f"<!-- landspeed-regression line={self.line} after={self.after} to={self.to} -->"

    def is_about(self, span: Span, place_of: PlaceOf) -> bool:
        """Return whether the issue is about the regression in *span*, perhaps in a wider span."""
        if self.line != _digest(span.line):
            return False
        if self.to == span.last:
            return True
        after, to = (place_of(_origin(name)) for name in (self.after, self.to))
        if after is None or to is None or to.branch != span.line:
            return False
        first = after.position + 1 if after.branch == span.line else 0
        return first <= span.end and span.first <= to.position


def _digest(line: str) -> str:
    return digest_text(line)[:12]


def _origin(name: str) -> Origin:
    # a beta has no dot either
    release = None if _FULL_HASH.fullmatch(name) else name
    return Origin(release=release, commit=None if release else name, tree="", date="")


def title(regression: Regression, subject_of: SubjectOf) -> str:
    """Return the title of the issue: by how much, which metric, and which commit."""
    worst, span = regression.changepoints[0], regression.span
    subject = code(subject_of(span.last), longest=_SUBJECT_CHARACTERS)
    where = f"{span.last[:10]} {subject}".strip()
    if span.count > 1:
        where = f"one of {span.count} commits up to {span.last[:10]}"
    return f"{change(worst.ratio)} {worst.metric} ({worst.mode}): {where}"


def body(regression: Regression, subject_of: SubjectOf) -> str:
    """Return the Markdown of the issue, cut to the length that GitHub accepts."""
    text = "\n\n".join(_paragraphs(regression, subject_of))
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}\n\n… (cut)\n"


def _paragraphs(regression: Regression, subject_of: SubjectOf) -> Iterator[str]:
    yield str(Mark.of(regression.span))
    yield from _what(regression, subject_of)
    yield markdown_table(_COLUMNS, map(_row, regression.changepoints), align="llllrrrl")
    yield "A comparison of both sides with fresh samples confirmed these changepoints of the trend."
    for note in regression.bisections:
        yield "<details><summary>The bisection</summary>"
        yield markdown(note.report, level=3)
        yield "</details>"
    yield "## To look into it"
    yield "\n".join(["```sh", *_commands(regression), "```"])
    yield (
        "landspeed rewrites this text when it knows more, and closes the issue when a later commit "
        "repairs the regression. If you close it, it stays closed."
    )


def _what(regression: Regression, subject_of: SubjectOf) -> Iterator[str]:
    span, worst = regression.span, regression.changepoints[0]
    amount = f"{change(worst.ratio)} {worst.metric}"
    line = code(span.line)
    if span.count == 1:
        commit = f"commit {span.last} {code(subject_of(span.last))}".strip()
        yield f"**{amount} by {commit}** on {line}."
    else:
        yield (
            f"**{amount} by one of {span.count} commits** on {line}, after {span.before} "
            f"and up to {span.last}."
        )
    for repair in regression.repairs:
        commit = f"{repair.after.ref} {code(subject_of(repair.after.ref))}".strip()
        yield f"**Repaired by {commit}** ({change(repair.ratio)} {repair.metric})."


def _row(one: Changepoint) -> tuple[str, ...]:
    before, after = map(number, one.levels)
    place = (code(one.machine), str(one.variant), code(one.scenario), one.metric)
    interval = "exact" if one.p_value is None else " … ".join(map(change, one.interval))
    return (*place, before, f"{after} {one.unit}", change(one.ratio), interval)


def _commands(regression: Regression) -> Iterator[str]:
    worst, span = regression.changepoints[0], regression.span
    before, last = (Target(ref=r, variant=worst.variant).short for r in (span.before, span.last))
    ends = f"{before} {last}"
    if worst.p_value is None:
        cache = "cold" if worst.metric == "instructions_cold" else "warm"
        yield f"landspeed explain {ends} --scenario {worst.scenario}/{cache}"
    else:
        yield f"landspeed compare {ends} --metric {worst.metric} --scenario {worst.scenario}"
    yield f"landspeed show {last}/{worst.scenario}"
