"""CPU time of building 20 successive commits in one incremental tree.

``python -m perf.builds.walk [REF]`` makes 20 commits on top of release REF (18), as wide as
PostgreSQL's own are, builds the release once in a cache of its own, and then each commit. The
clean build that this is held against is made of the last commit, plainly and without ccache:
neighbours differ by less than the clock does.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from base.build import Variant
from base.paths import Paths
from builders.builder import Builder
from builders.sandbox import Host
from landspeed.console.progress import say
from perf.builds.build_cost import plain
from perf.figure import Figure, cpu_seconds
from tests.kits.builds.history_kit import Edit, History, append, builder_of, function, substitute

_BACKEND = "src/backend"
_SINGLE = (
    "access/transam/xact",
    "access/nbtree/nbtinsert",
    "executor/nodeHash",
    "optimizer/path/costsize",
    "replication/walsender",
    "storage/buffer/bufmgr",
    "utils/adt/ruleutils",
)
_SEVERAL = (
    ("access/heap/heapam", "access/heap/vacuumlazy", "commands/vacuum"),
    ("commands/tablecmds", "parser/parse_utilcmd", "catalog/heap"),
    ("postmaster/postmaster", "tcop/postgres"),
)
_APART = ("doc/src/sgml/config.sgml", "doc/src/sgml/mvcc.sgml", "src/test/regress/sql/join.sql")


def commits() -> dict[str, Mapping[str, Edit]]:
    """The 20 commits: what each changes, by its name."""
    adt = f"{_BACKEND}/utils/adt"
    return {
        **{f"one file, {name}": _sources(name) for name in _SINGLE},
        **{f"several files, {names[0]}": _sources(*names) for names in _SEVERAL},
        **{f"nothing built, {name}": {name: append("\n")} for name in _APART},
        "nothing built, a TAP test": {"src/bin/pg_ctl/t/099_walk.pl": "1;\n"},
        "a narrow header, nbtree.h": {
            "src/include/access/nbtree.h": append("\nextern int walk_nbtree(void);\n"),
            **_sources("access/nbtree/nbtsort"),
        },
        "a narrow header, walsender.h": {
            "src/include/replication/walsender.h": append("\nextern int walk_walsender(void);\n")
        },
        "a wide header, parsenodes.h": {
            "src/include/nodes/parsenodes.h": substitute(
                "typedef struct CreateStmt\n{\n\tNodeTag\t\ttype;\n",
                "typedef struct CreateStmt\n{\n\tNodeTag\t\ttype;\n\tint\t\t\twalk;\n",
            )
        },
        "catalog data, pg_proc.dat": {
            "src/include/catalog/pg_proc.dat": substitute("descr => 'I/O'", "descr => 'walk'")
        },
        "the grammar": {
            f"{_BACKEND}/parser/gram.y": substitute("unrecognized role", "unknown role")
        },
        "a new file": {
            f"{adt}/walk.c": '#include "postgres.h"\n' + function("walk_new", 1),
            f"{adt}/meson.build": substitute("  'acl.c',\n", "  'acl.c',\n  'walk.c',\n"),
            f"{adt}/Makefile": substitute("\tacl.o \\\n", "\tacl.o \\\n\twalk.o \\\n"),
        },
    }


def _sources(*names: str) -> dict[str, Edit]:
    return {
        f"{_BACKEND}/{name}.c": append(function(f"walk_{name.replace('/', '_')}", len(name)))
        for name in names
    }


def walk(builder: Builder, history: History, tree: str) -> dict[str, float]:
    """CPU seconds from each commit's hash to its proven Build, by the commit's name."""
    history.begin(tree)
    for name, edits in commits().items():
        history.commit(name, edits)
    spent = {}
    for name, commit in history.tips.items():
        before = cpu_seconds()
        builder.build(builder.sources.resolve(commit), Variant(), progress=lambda _: None)
        spent[name] = cpu_seconds() - before
        say(f"{name}: {spent[name]:.1f} CPU s")
    return spent


def main(ref: str) -> None:
    """Print the figures for commits on top of *ref*."""
    shared = Builder.open(Paths.find())
    release = shared.sources.resolve(ref)
    with tempfile.TemporaryDirectory(prefix="landspeed-walk-") as name:
        own = Path(name)
        history = History(own / "history.git", shared.paths.sources)
        sandbox = Host(ccache=own / "ccache", jobs=shared.sandbox.jobs)
        builder = builder_of(history, replace(shared, sandbox=sandbox), own / "cache")
        spent = walk(builder, history, release.origin.tree)
        del spent["begin"]
        last = builder.sources.resolve(next(reversed(history.tips.values())))
        say(f"building {last.origin.name} plainly")
        beside = plain(builder, last, own)
    total = sum(spent.values())
    Figure(
        figure=f"walk of {len(spent)} commits / clean builds",
        value=round(total / (beside * len(spent)), 4),
        unit="ratio of CPU seconds",
        goal="<= 0.10",
        beside=f"{total:.0f} CPU s against {len(spent)} x {beside:.0f} for plain configure && "
        f"make && make install of {release.version}",
    ).show()
    singles = [seconds for name, seconds in spent.items() if name.startswith("one file")]
    Figure(
        figure="one changed .c file to a proven Build",
        value=round(statistics.median(singles), 2),
        unit="CPU s",
        goal="<= 4",
        beside=f"median of {len(singles)} commits on {release.version}, "
        f"{min(singles):.1f} to {max(singles):.1f}",
    ).show()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "18")
