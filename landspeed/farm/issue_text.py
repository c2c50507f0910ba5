"""The text of an issue: what happened, where, how much, how sure; and the mark it is known by.

Whatever comes from commits is in code, so that it mentions nobody and refers to nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from base.build import Origin
from base.files import digest_text
from landspeed.bisect.report_markdown import markdown
from landspeed.changepoints.changepoint import Changepoint
from landspeed.console.format import change
from landspeed.console.markdown import code, markdown_table
from landspeed.farm.regressions import Regression, Span
from landspeed.results.series import PlaceOf

_NAME = r"[0-9A-Za-z.]+"
_MARK = re.compile(
    rf"<!-- landspeed-regression line=([0-9a-f]{{12}}) after=({_NAME}) to=({_NAME}) -->"
)
_LONGEST = 60_000  # GitHub takes 65,536 characters
_TITLE = 60
_TITLES = ("machine", "variant", "scenario", "metric", "before", "after", "change", "sure")

SubjectOf = Callable[[str], str]
"""The subject of a commit by its full hash; empty for a release, or where it is not known."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A Mark is what an issue is known by: its line, and between which two it happened."""

    line: str
    after: str
    to: str

    @classmethod
    def of(cls, span: Span) -> Self:
        """The Mark of what happened in *span*."""
        return cls(line=_digest(span.line), after=span.before, to=span.last)

    @classmethod
    def read(cls, body: str) -> Self | None:
        """The Mark in the text of an issue; None if it is not one of ours."""
        found = _MARK.search(body)
        return cls(line=found[1], after=found[2], to=found[3]) if found else None

    def __str__(self) -> str:
        return f"<!-- landspeed-regression line={self.line} after={self.after} to={self.to} -->"

    def is_about(self, span: Span, place_of: PlaceOf) -> bool:
        """Whether the issue is about what happened in *span*, though it may know less of where."""
        if self.line != _digest(span.line):
            return False
        if self.to == span.last:
            return True
        ends = [place_of(_origin(name)) for name in (self.after, self.to)]
        if ends[0] is None or ends[1] is None or ends[1].branch != span.line:
            return False
        first = ends[0].position + 1 if ends[0].branch == span.line else 0
        return first <= span.end and span.first <= ends[1].position


def _digest(line: str) -> str:
    # a branch may be called anything, and an HTML comment ends where it says so
    return digest_text(line)[:12]


def _origin(name: str) -> Origin:
    release = name if "." in name else None
    return Origin(release=release, commit=None if release else name, tree="", date="")


def title(regression: Regression, subject_of: SubjectOf) -> str:
    """The title: how much of what, and which commit."""
    worst, span = regression.steps[0], regression.span
    subject = code(subject_of(span.last), longest=_TITLE)
    where = f"{_short(span.last)} {subject}".strip()
    if span.count > 1:
        where = f"one of {span.count} commits up to {_short(span.last)}"
    return f"{change(worst.ratio)} {worst.metric} ({worst.mode}): {where}"


def body(regression: Regression, subject_of: SubjectOf) -> str:
    """The text, of at most as many characters as an issue may have."""
    text = "\n".join(_lines(regression, subject_of))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\n\n… (cut)\n"


def _lines(regression: Regression, subject_of: SubjectOf) -> Iterator[str]:
    yield str(Mark.of(regression.span))
    yield ""
    yield from _what(regression, subject_of)
    yield ""
    yield markdown_table(_TITLES, map(_row, regression.steps), align="llllrrrl")
    yield ""
    yield "A step of the trend, which a comparison of its two sides confirmed."
    for report in regression.bisections:
        yield from _bisection(report["report"])
    yield ""
    yield "## To look into it"
    yield ""
    yield "```sh"
    yield from _commands(regression)
    yield "```"
    yield ""
    yield (
        "This text is written anew when more is known; the issue is closed when the cost is gone. "
        "Closed by hand it stays closed."
    )


def _what(regression: Regression, subject_of: SubjectOf) -> Iterator[str]:
    span, worst = regression.span, regression.steps[0]
    much = f"{change(worst.ratio)} {worst.metric}"
    line = code(span.line)
    if span.count == 1:
        did = f"commit {span.last} {code(subject_of(span.last))}".strip()
        yield f"**{much} by {did}** on {line}."
    else:
        yield (
            f"**{much} by one of {span.count} commits** on {line}, after {span.before} "
            f"and up to {span.last}."
        )
    for step in regression.repairs:
        name = step.after.release or step.after.commit or ""
        did = f"{name} {code(subject_of(name))}".strip()
        yield ""
        yield f"**Gone since {did}** ({change(step.ratio)} {step.metric})."


def _row(step: Changepoint) -> tuple[str, ...]:
    before, after = (_number(level) for level in step.levels)
    unit = step.unit
    sure = "exact" if step.p_value is None else _interval(step)
    return (
        code(step.machine),
        str(step.variant),
        code(step.scenario),
        step.metric,
        before,
        f"{after} {unit}",
        change(step.ratio),
        sure,
    )


def _interval(step: Changepoint) -> str:
    low, high = map(change, step.interval)
    return f"{low} … {high}"


def _bisection(report: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    yield "<details><summary>The bisection</summary>"
    yield ""
    # below this issue's own headings
    yield re.sub(r"^(#+ )", r"##\1", markdown(report), flags=re.M)
    yield ""
    yield "</details>"


def _commands(regression: Regression) -> Iterator[str]:
    worst, span = regression.steps[0], regression.span
    ends = f"{_short(span.before)} {_short(span.last)}"
    variant = "" if worst.variant.name == "bs8" else f":{worst.variant}"
    if worst.p_value is None:
        buffers = "cold" if worst.metric == "instructions_cold" else "warm"
        yield f"landspeed explain {ends} --scenario {worst.scenario}/{buffers}"
    else:
        yield f"landspeed compare {ends} --metric {worst.metric} --scenario {worst.scenario}"
    yield f"landspeed show {_short(span.last)}{variant}/{worst.scenario}"


def _short(name: str) -> str:
    return name if "." in name else name[:10]


def _number(value: float) -> str:
    return f"{value:,.1f}" if value >= 1000 else f"{value:.4g}"
