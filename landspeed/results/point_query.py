"""How a person names a point: in words, or by pasting the address of asv's page.

``REF[:VARIANT][/MODE[/PROTOCOL[/SCALE[/CLIENTS[/PROFILE[/BUFFERS]]]]]]``, such as
``18.6:bs4/read-only/prepared/small/c4/default``; what is left out, or ``*``, matches all. BUFFERS
are those of counted runs, warm or cold: a PROFILE that they do not follow is of timed ones.
``#read_only.track_latency?p-clients=4&blocksize=8&commits=HASH`` is the end of an address of
the site.
``run:ID`` is one run, by the first digits of its record's id.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote

from base.build import Origin, Variant
from base.errors import UsageError
from base.version import Version
from benchmarks.records.columns import variant_of
from benchmarks.workloads.metrics import PARAM_NAMES, VARIANT_NAMES, metric_of, mode_of, scale_param

SPELLING = "REF[:VARIANT][/MODE[/PROTOCOL[/SCALE[/CLIENTS[/PROFILE[/BUFFERS]]]]]]"
_PARTS = ("mode", *PARAM_NAMES, "buffers")
# How a timed run spells the buffers it does not have.
_TIMED = "None"
_GENERIC = ("machine", *VARIANT_NAMES)
_HASH = re.compile(r"[0-9a-f]{7,40}")

ReleaseAt = Callable[[str], str | None]
"""From a hash of the synthetic branch (or the start of one) to its release, or None."""


@dataclass(frozen=True, kw_only=True)
class PointQuery:
    """A PointQuery says which runs are meant: allowed values by column; no key allows all.

    ``refs`` are releases, majors or commits, any of them; empty for all. Keys of ``allowed``
    are scalar columns, and ``scale`` spelled as ``small``, ``5`` or ``small-5``.
    """

    refs: tuple[str, ...] = ()
    run: str | None = None
    allowed: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def matches(self, row: Mapping[str, Any]) -> bool:
        """Whether the run of *row* (the scalar columns of a record) is meant."""
        if self.run is not None:
            return bool(row["id"].startswith(self.run))
        if self.refs and not any(_is_ref(row, ref) for ref in self.refs):
            return False
        return all(
            not values.isdisjoint(_spelled(row, name)) for name, values in self.allowed.items()
        )


def parse_point(text: str, release_at: ReleaseAt) -> PointQuery:
    """The PointQuery that *text* spells; UsageError if it is no POINT."""
    if text.startswith("run:"):
        return PointQuery(run=text.removeprefix("run:"))
    if "#" in text:
        return _parse_fragment(text.partition("#")[2], release_at)
    if "?" in text:
        return _parse_fragment(text, release_at)
    return _parse_words(text, release_at)


def _parse_words(text: str, release_at: ReleaseAt) -> PointQuery:
    target, *parts = text.split("/")
    if len(parts) > len(_PARTS):
        raise _bad(text, f"It has {len(parts)} parts after the target, at most {len(_PARTS)} fit.")
    ref, _, variant = target.partition(":")
    allowed: dict[str, frozenset[str]] = {}
    if variant:
        chosen = Variant.parse(variant).axes()
        allowed |= {name: frozenset({value}) for name, value in chosen.items()}
    for name, value in zip(_PARTS, parts, strict=False):
        if value in ("", "*"):
            continue
        spelled = value.removeprefix("c") if name == "clients" else value
        if name == "clients" and not spelled.isdigit():
            raise _bad(text, f'"{value}" is not a number of clients.')
        allowed[name] = frozenset({spelled})
    if len(parts) == len(_PARTS) - 1:
        allowed["buffers"] = frozenset({_TIMED})
    refs = () if ref in ("", "*") else (_named(ref, release_at),)
    return PointQuery(refs=refs, allowed=allowed)


def _parse_fragment(fragment: str, release_at: ReleaseAt) -> PointQuery:
    benchmark, _, query = fragment.strip("/").partition("?")
    benchmark = unquote(benchmark)
    if "." not in benchmark:
        raise _bad(fragment, "An address of the site must be that of a benchmark's graph.")
    values: dict[str, set[str]] = {"mode": {mode_of(benchmark)}}
    metric = metric_of(benchmark)
    if metric is not None:
        values["buffers"] = {metric.buffers or _TIMED}
    refs: list[str] = []
    for key, value in parse_qsl(query):
        if key == "commits":
            refs += [_named(one, release_at) for one in value.split("-")]
        elif key in _GENERIC:
            values.setdefault(key, set()).add(value)
        elif key.startswith("p-") and key[2:] in PARAM_NAMES:
            values.setdefault(key[2:], set()).add(_plain(value))
    allowed = {name: frozenset(some) for name, some in values.items()}
    return PointQuery(refs=tuple(refs), allowed=allowed)


def _plain(value: str) -> str:
    # asv writes parameters as Python's repr
    try:
        return str(ast.literal_eval(value))
    except (ValueError, SyntaxError):
        return value


def _named(ref: str, release_at: ReleaseAt) -> str:
    if _HASH.fullmatch(ref):
        return release_at(ref) or ref
    version = Version.from_tag(ref)
    return ref if version is None else str(version)


def name_of(row: Mapping[str, Any]) -> str:
    """How people call the origin of a run, from the scalar columns of its record."""
    return Origin(
        release=row["release"],
        commit=row["commit"],
        tree=row["tree"],
        date="",
        registered=row["registered"],
    ).name


def _is_ref(row: Mapping[str, Any], ref: str) -> bool:
    release, commit = row["release"], row["commit"]
    if row["registered"] is not None:
        return ref == f"@{row['registered']}"
    if release is not None and (release == ref or release.startswith(f"{ref}.")):
        return True
    return bool(commit is not None and _HASH.fullmatch(ref) and commit.startswith(ref))


def _spelled(row: Mapping[str, Any], name: str) -> frozenset[str]:
    if name == "scale":
        tier, scale = row["tier"], row["scale"]
        return frozenset({tier, str(scale), scale_param(tier, scale)})
    if name in VARIANT_NAMES:
        return frozenset({variant_of(row).axes()[name]})
    return frozenset({str(row[name])})


def _bad(text: str, detail: str) -> UsageError:
    return UsageError(
        f'"{text}" is not a point',
        detail=detail,
        hint=f"Points are spelled {SPELLING}, or paste the address of a graph of the site.",
    )
