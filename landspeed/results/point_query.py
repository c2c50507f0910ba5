"""Parse the name of a point, as a person types it or copies it from the site.

``REF[:VARIANT][/MODE[/PROTOCOL[/SCALE[/CLIENTS[/CONFIGURATION[/BUFFERS]]]]]]``, such as
``18.6:bs4/read-only/prepared/small/c4/default``. A part that is missing, or ``*``, matches all.
BUFFERS (warm or cold) select counted runs; a CONFIGURATION without BUFFERS selects timed runs.

``#read_only.track_latency?p-clients=4&blocksize=8&commits=HASH`` is the end of an address of the
site. ``run:ID`` is one run, by the first digits of its record's id.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Set
from dataclasses import astuple, dataclass, field
from urllib.parse import parse_qsl, unquote

from base.build import Origin, Variant
from base.errors import UsageError
from base.version import Version
from benchmarks.workloads.cell_name import CellName, cell_syntax
from benchmarks.workloads.metrics import (
    FAMILY_PARAM_NAMES,
    PARAM_NAMES,
    VARIANT_NAMES,
    metric_of,
    mode_of,
    scale_param,
)
from landspeed.results.run import Run

SPELLING = f"REF[:VARIANT][/{cell_syntax()}]"
_PARTS = ("mode", *PARAM_NAMES, "buffers")
_TIMED = "None"  # str() of the buffers of a timed run
_GENERIC = ("machine", *VARIANT_NAMES)
_FIELDS = {name: name for name in PARAM_NAMES} | {FAMILY_PARAM_NAMES[0]: "mode"}
_HASH = re.compile(r"[0-9a-f]{7,40}")

ReleaseAt = Callable[[str], str | None]
"""Returns the release of a commit of the releases branch, by the start of its hash, or None."""


@dataclass(frozen=True, kw_only=True)
class PointQuery:
    """Selection of runs: the allowed values by field; a missing field allows all.

    ``refs`` are releases, major versions or commits; empty for all. A ``scale`` is spelled
    ``small``, ``5`` or ``small-5``.
    """

    refs: tuple[str, ...] = ()
    run: str | None = None
    allowed: Mapping[str, Set[str]] = field(default_factory=dict)

    def names(self, origin: Origin) -> bool:
        """Return whether *origin* is among ``refs``."""
        return not self.refs or any(_is_ref(origin, ref) for ref in self.refs)

    def matches(self, run: Run) -> bool:
        """Return whether *run* is selected."""
        if self.run is not None:
            return run.id.startswith(self.run)
        return self.names(run.origin) and all(
            values & _spellings(run, name) for name, values in self.allowed.items()
        )


def parse_point(text: str, release_at: ReleaseAt) -> PointQuery:
    """Return the query that *text* spells; UsageError if it is not a point."""
    if text.startswith("run:"):
        return PointQuery(run=text.removeprefix("run:"))
    if "#" in text or "?" in text:
        return _parse_fragment(text.split("#", 1)[-1], release_at)
    return _parse_words(text, release_at)


def _parse_words(text: str, release_at: ReleaseAt) -> PointQuery:
    target, _, cell = text.partition("/")
    try:
        named = CellName.parse(cell)
    except UsageError as error:
        raise _bad(text, error.detail or f"{error.message}.") from error
    ref, _, variant = target.partition(":")
    parts = dict(zip(_PARTS, astuple(named), strict=True))
    if cell.count("/") == len(_PARTS) - 2:
        parts["buffers"] = _TIMED
    parts |= Variant.parse(variant).axes() if variant else {}
    allowed = {name: {str(part)} for name, part in parts.items() if part is not None}
    refs = () if ref in ("", "*") else (_named(ref, release_at),)
    return PointQuery(refs=refs, allowed=allowed)


def _parse_fragment(fragment: str, release_at: ReleaseAt) -> PointQuery:
    benchmark, _, query = fragment.strip("/").partition("?")
    benchmark = unquote(benchmark)
    if "." not in benchmark:
        raise _bad(fragment, "An address of the site must be the address of a graph.")
    mode, metric = mode_of(benchmark), metric_of(benchmark)
    allowed: dict[str, set[str]] = {"mode": {mode}} if mode else {}
    if metric is not None:
        allowed["buffers"] = {metric.buffers or _TIMED}
    refs: list[str] = []
    for key, value in parse_qsl(query):
        if key == "commits":
            refs += [_named(one, release_at) for one in value.split("-")]
        elif key in _GENERIC:
            allowed.setdefault(key, set()).add(value)
        elif key.startswith("p-") and key[2:] in _FIELDS:
            allowed.setdefault(_FIELDS[key[2:]], set()).add(_plain(value))
    return PointQuery(refs=tuple(refs), allowed=allowed)


def _plain(value: str) -> str:
    # asv writes parameters as their repr in Python.
    try:
        return str(ast.literal_eval(value))
    except (ValueError, SyntaxError):
        return value


def _named(ref: str, release_at: ReleaseAt) -> str:
    if _HASH.fullmatch(ref):
        return release_at(ref) or ref
    version = Version.from_tag(ref)
    return ref if version is None else str(version)


def _is_ref(origin: Origin, ref: str) -> bool:
    release, commit = origin.release, origin.commit
    if origin.registered is not None:
        return ref == origin.name
    if release is not None and f"{release}.".startswith(f"{ref}."):
        return True
    return bool(commit is not None and _HASH.fullmatch(ref) and commit.startswith(ref))


def _spellings(run: Run, name: str) -> set[str]:
    if name == "scale":
        return {run.tier, str(run.scale), scale_param(run.tier, run.scale)}
    if name in VARIANT_NAMES:
        return {run.variant.axes()[name]}
    return {str(getattr(run, name))}


def _bad(text: str, detail: str) -> UsageError:
    return UsageError(
        f'"{text}" is not a point',
        detail=detail,
        hint=f"Points are spelled {SPELLING}, or paste the address of a graph of the site.",
    )
