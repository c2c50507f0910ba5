"""The data of the page *Guards*: which functions of the newest server workloads execute.

They need that server's program and source. Without them the page says why it is empty.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from base.errors import LandspeedError
from base.files import digest_text
from landspeed.profiling.guards import (
    GuardCounts,
    GuardedFile,
    GuardMap,
    guard_map,
    guarded_build,
)
from landspeed.profiling.unreached import UNREACHED
from landspeed.session.session import Session
from landspeed.site.pages.data import GUARDS_INDEX, PAGES_DATA, no_guards
from landspeed.site.pages.page_files import json_file

BACKEND = "src/backend/"
"""The part of the source that is shown."""

_MOST = 12  # workloads that are named for a function


def guard_pages(session: Session) -> dict[str, str]:
    """Return the data files of the page, path → text; made again only where something changed."""
    try:
        build, newest = guarded_build(session.records, session.builder)
        told = [build.identifier, *sorted(newest.values()), UNREACHED.read_bytes().hex()]
        key = digest_text("\n".join(told))
        kept = _kept(session.paths.results / PAGES_DATA, key)
        if kept:
            return kept
        found = guard_map(session.paths, session.records, session.builder, BACKEND)
    except LandspeedError as error:
        reason = " ".join(filter(None, (f"{error.message}.", error.detail)))
        return no_guards(reason[:1].upper() + reason[1:])
    return guard_files(found, sorted(newest), key)


def guard_files(found: GuardMap, workloads: list[str], key: str = "") -> dict[str, str]:
    """Return the data files of *found*: an index of the files, and a file for each directory.

    A function is its name, whether regression tests reach it, how many *workloads* execute it, and
    the numbers of the first of these.
    """
    number = {name: at for at, name in enumerate(workloads)}
    groups: dict[str, dict[str, list[list[object]]]] = {}
    for one in found.files:
        own = groups.setdefault(_name(one.directory), {})
        own[one.path] = _functions(one, found.workloads, number)
    index = {
        "key": key,
        "server": found.label,
        "workloads": workloads,
        "files": [
            {"path": one.path, "data": _name(one.directory)} | vars(GuardCounts.of([one]))
            for one in found.files
        ],
    }
    return {name: json_file(facts) for name, facts in ({GUARDS_INDEX: index} | groups).items()}


def _functions(
    one: GuardedFile, executing: Mapping[str, tuple[str, ...]], number: Mapping[str, int]
) -> list[list[object]]:
    reachable = {*one.reachable}
    return [
        [
            name,
            name in reachable,
            len(executing.get(name, ())),
            [number[workload] for workload in executing.get(name, ())[:_MOST]],
        ]
        for name in one.functions
    ]


def _name(directory: str) -> str:
    return f"guards/{directory.replace('/', '-')}.json"


def _kept(pages: Path, key: str) -> dict[str, str]:
    """Return the files that were made before from the same counts; empty if there are none."""
    try:
        text = (pages / GUARDS_INDEX).read_text()
        facts = json.loads(text)
        if facts["key"] != key:
            return {}
        names = {one["data"] for one in facts["files"]}
        return {GUARDS_INDEX: text, **{name: (pages / name).read_text() for name in sorted(names)}}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
