"""The walk: commits that change, one each, what can go wrong when a tree is continued."""

from __future__ import annotations

from collections.abc import Mapping

from builders.recipe_table import BuildSystem
from tests.kits.builds.history_kit import Edit, History, append, function, substitute

ADT, NBTREE = "src/backend/utils/adt", "src/backend/access/nbtree"
GRAM = "src/backend/parser/gram"
Edits = Mapping[str, Edit]

ONE_FILE, WIDE = "one C file", "a header that other headers include"
BROKEN = "a commit that does not compile"
CATALOG, GRAMMAR = "catalog data", "the grammar"
STEP_BACK, JUMP_BACK = "a step backwards", "a jump backwards"
CORRUPTED, UNCACHED = "a build tree corrupted by hand", "a C file, with ccache disabled"
OUTDATED = "a grammar whose shipped parser is not made again"

_NEW_C = '#include "postgres.h"\n#include "utils/landspeed.h"\n'
_NEW_H = "extern int landspeed_new(void);\n"

_COMMON: dict[str, Edits] = {
    ONE_FILE: {"src/backend/access/transam/xact.c": append(function("landspeed_one", 1))},
    WIDE: {
        # a hundred files include it, directly or not; each is compiled twice
        "src/include/access/amapi.h": substitute(
            "typedef struct IndexAmRoutine\n{\n\tNodeTag\t\ttype;\n",
            "typedef struct IndexAmRoutine\n{\n\tNodeTag\t\ttype;\n\tint\t\t\tlandspeed;\n",
        )
    },
    "the build's own script": {},
    "a new file": {
        f"{ADT}/landspeed.c": _NEW_C + function("landspeed_new", 2),
        "src/include/utils/landspeed.h": _NEW_H,
    },
    CATALOG: {
        "src/include/catalog/pg_proc.dat": substitute("descr => 'I/O'", "descr => 'in and out'")
    },
    GRAMMAR: {f"{GRAM}.y": substitute("unrecognized role option", "unknown role option")},
    "documentation and tests": {
        "doc/src/sgml/acronyms.sgml": append("\n"),
        "doc/src/sgml/ref/abort.sgml": substitute("ABORT [", "ABORT [ LANDSPEED ] ["),
        "src/test/regress/sql/boolean.sql": append("\nSELECT 1;\n"),
        "src/bin/initdb/t/002_landspeed.pl": "1;\n",
    },
    BROKEN: {f"{ADT}/bool.c": append("\nint landspeed_broken(\n")},
    "it is mended, and a library that programs are made of is changed": {
        f"{ADT}/bool.c": substitute("\nint landspeed_broken(\n", ""),
        "src/port/path.c": append(function("landspeed_port", 3)),
    },
    "a deleted file": {f"{ADT}/landspeed.c": None, "src/include/utils/landspeed.h": None},
    "flags of a directory": {},
    UNCACHED: {f"{ADT}/char.c": append(function("landspeed_uncached", 4))},
}

_OWN: dict[BuildSystem, dict[str, Edits]] = {
    BuildSystem.CONFIGURE: {
        "the build's own script": {
            "configure": substitute("docdir='${datarootdir}/doc/", "docdir='${datarootdir}/docs/")
        },
        "a new file": {
            f"{ADT}/Makefile": substitute("\tacl.o \\\n", "\tacl.o \\\n\tlandspeed.o \\\n")
        },
        "a deleted file": {f"{ADT}/Makefile": substitute("\tlandspeed.o \\\n", "")},
        "flags of a directory": {
            f"{NBTREE}/Makefile": substitute(
                "\ninclude $(top_srcdir)/src/backend/common.mk",
                "\nnbtsort.o: CFLAGS += -O1\n\ninclude $(top_srcdir)/src/backend/common.mk",
            )
        },
    },
    BuildSystem.MESON: {
        "the build's own script": {
            "meson.build": substitute(
                "get_option('datadir') / 'doc'", "get_option('datadir') / 'docs'"
            )
        },
        "a new file": {
            f"{ADT}/meson.build": substitute("  'acl.c',\n", "  'acl.c',\n  'landspeed.c',\n")
        },
        "documentation and tests": {
            "contrib/landspeed/landspeed.c": '#include "postgres.h"\n',
            "contrib/landspeed/meson.build": "install_data('landspeed.c')\n",
            "contrib/meson.build": substitute(
                "subdir('amcheck')", "subdir('amcheck')\nsubdir('landspeed')"
            ),
        },
        "a deleted file": {f"{ADT}/meson.build": substitute("  'landspeed.c',\n", "")},
        "flags of a directory": {
            f"{ADT}/meson.build": substitute("c_args: vectorize_cflags", "c_args: ['-O1']")
        },
    },
}


def make_walk(history: History, release_tree: str, system: BuildSystem) -> dict[str, str]:
    """What is tried → the commit that tries it, in the order to go; all made in *history*."""
    history.begin(release_tree)
    for name, edits in _COMMON.items():
        history.commit(name, {**edits, **_OWN[system].get(name, {})})
    stops = {}
    for name, commit in history.tips.items():
        stops[name] = commit
        if name == GRAMMAR:
            stops[STEP_BACK] = history.tips[CATALOG]
    stops |= {JUMP_BACK: history.tips[ONE_FILE], CORRUPTED: history.tips[ONE_FILE]}
    if system is BuildSystem.CONFIGURE:
        stops |= _with_shipped_parser(history, release_tree)
    return stops


def _with_shipped_parser(history: History, release_tree: str) -> dict[str, str]:
    # all files of a clean tree are of one age: make takes a parser that is there for current
    shipped = {
        f"{GRAM}.{suffix}": history.git("show", f"{release_tree}:{GRAM}.{suffix}")
        for suffix in ("c", "h")
    }
    outdated = {f"{GRAM}.y": substitute("unknown role option", "no such role option")}
    return {
        "a parser is shipped": history.commit("a parser is shipped", shipped),
        OUTDATED: history.commit(OUTDATED, outdated),
    }
