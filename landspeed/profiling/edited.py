"""Which functions a patch changes, and which of these no counted workload executes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from base.build import Build
from base.paths import Paths
from benchmarks.counted.profiles import kept_profile
from builders.sandbox import printed
from builders.source import Source, Sources
from landspeed.profiling.diff import whole_functions

_LITERAL_OR_COMMENT = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL
)
# PostgreSQL's style, which pgindent sees to: the name begins a line, and so do both braces.
_FUNCTION = re.compile(r"^([A-Za-z_]\w*)\([^;{}]*\)[^;{}]*\n\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class EditedFunctions:
    """Functions that a patch changes, by name: executed by a workload of the suite, or by none.

    ``inlined`` are no functions of the server's program: whether they are executed is not known.
    """

    executed: tuple[str, ...] = ()
    unguarded: tuple[str, ...] = ()
    inlined: tuple[str, ...] = ()


def edited_functions(sources: Sources, before: str, after: Source) -> list[str]:
    """Return the functions of *after* that differ from the tree *before*, but for comments.

    A function that only moved is not among them, nor is one that was removed.
    """
    changed = sources.changes(before, after) or []
    paths = [one.path for one in changed if one.path.endswith((".c", ".h"))]
    old, new = (
        dict(one for path in paths for one in functions(sources.history.file(tree, path)))
        for tree in (before, after.origin.tree)
    )
    return sorted(name for name, body in new.items() if old.get(name) != body)


def functions(text: str) -> list[tuple[str, str]]:
    """Return the functions in the C source *text*: name, and body without comments."""
    code = _LITERAL_OR_COMMENT.sub(lambda found: found[0] if found[0][0] in "\"'" else " ", text)
    return [(name, " ".join(body.split())) for name, body in _FUNCTION.findall(code)]


def compiled_functions(build: Build) -> set[str]:
    """Return the functions of the server's program: those that were not inlined everywhere."""
    lines = printed("nm", "--defined-only", build.program("postgres")).splitlines()
    return {line.split()[-1].partition(".")[0] for line in lines}


def executed_of(
    paths: Paths, build: Build, names: Iterable[str], records: Iterable[str]
) -> EditedFunctions:
    """Return what of *names* the counts *records* (ids) of *build* executed."""
    known = set(names)
    if not known:
        return EditedFunctions()
    profiles = filter(None, (kept_profile(paths, identifier) for identifier in records))
    executed = known & {name for profile in profiles for name in whole_functions(profile).own}
    present = compiled_functions(build)
    return EditedFunctions(
        executed=tuple(sorted(executed)),
        unguarded=tuple(sorted(known & present - executed)),
        inlined=tuple(sorted(known - present - executed)),
    )
