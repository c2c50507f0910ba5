"""The walk: commits that change, one each, what can go wrong when a tree is continued."""

from __future__ import annotations

from collections.abc import Mapping

from builders.recipe_table import BuildSystem
from tests.kits.builds.history_kit import Edit, History, append, function, substitute

ADT, NBTREE = "src/backend/utils/adt", "src/backend/access/nbtree"
GRAM = "src/backend/parser/gram"
Edits = Mapping[str, Edit]

ONE_FILE = "one C file"
FOLLOWED = "what is followed: a wide header, a library, catalog data, the grammar, documentation"
STEP_BACK, JUMP_BACK = "a step backwards", "a jump backwards"
BUILD_FILES = "what starts anew: the build's own script, a new file, flags, a shipped parser"
BROKEN = "a commit that does not compile"
MENDED = "it is mended, and a file is deleted"
CORRUPTED, UNCACHED = "a build tree corrupted by hand", "a C file, with ccache disabled"
OUTDATED = "a grammar whose shipped parser is not made again"

_NEW_C = '#include "postgres.h"\n#include "utils/landspeed.h"\n'
_NEW_H = "extern int landspeed_new(void);\n"

# Several changes are one commit where all are followed, or all start anew: which of the two a
# changed file does is tested for each by test_incremental_rule.
_COMMON: dict[str, Edits] = {
    ONE_FILE: {"src/backend/access/transam/xact.c": append(function("landspeed_one", 1))},
    FOLLOWED: {
        # a hundred files include it, directly or not; each is compiled twice
        "src/include/access/amapi.h": substitute(
            "typedef struct IndexAmRoutine\n{\n\tNodeTag\t\ttype;\n",
            "typedef struct IndexAmRoutine\n{\n\tNodeTag\t\ttype;\n\tint\t\t\tlandspeed;\n",
        ),
        # programs are made of it
        "src/port/path.c": append(function("landspeed_port", 3)),
        "src/include/catalog/pg_proc.dat": substitute("descr => 'I/O'", "descr => 'in and out'"),
        f"{GRAM}.y": substitute("unrecognized role option", "unknown role option"),
        "doc/src/sgml/acronyms.sgml": append("\n"),
        "doc/src/sgml/ref/abort.sgml": substitute("ABORT [", "ABORT [ LANDSPEED ] ["),
        "src/test/regress/sql/boolean.sql": append("\nSELECT 1;\n"),
        "src/bin/initdb/t/002_landspeed.pl": "1;\n",
    },
    BUILD_FILES: {
        f"{ADT}/landspeed.c": _NEW_C + function("landspeed_new", 2),
        "src/include/utils/landspeed.h": _NEW_H,
    },
    BROKEN: {f"{ADT}/bool.c": append("\nint landspeed_broken(\n")},
    MENDED: {
        f"{ADT}/bool.c": substitute("\nint landspeed_broken(\n", ""),
        f"{ADT}/landspeed.c": None,
        "src/include/utils/landspeed.h": None,
    },
    UNCACHED: {f"{ADT}/char.c": append(function("landspeed_uncached", 4))},
}

_OWN: dict[BuildSystem, dict[str, Edits]] = {
    BuildSystem.CONFIGURE: {
        BUILD_FILES: {
            "configure": substitute("docdir='${datarootdir}/doc/", "docdir='${datarootdir}/docs/"),
            f"{ADT}/Makefile": substitute("\tacl.o \\\n", "\tacl.o \\\n\tlandspeed.o \\\n"),
            f"{NBTREE}/Makefile": substitute(
                "\ninclude $(top_srcdir)/src/backend/common.mk",
                "\nnbtsort.o: CFLAGS += -O1\n\ninclude $(top_srcdir)/src/backend/common.mk",
            ),
        },
        MENDED: {f"{ADT}/Makefile": substitute("\tlandspeed.o \\\n", "")},
    },
    BuildSystem.MESON: {
        FOLLOWED: {
            "contrib/landspeed/landspeed.c": '#include "postgres.h"\n',
            "contrib/landspeed/meson.build": "install_data('landspeed.c')\n",
            "contrib/meson.build": substitute(
                "subdir('amcheck')", "subdir('amcheck')\nsubdir('landspeed')"
            ),
        },
        BUILD_FILES: {
            "meson.build": substitute(
                "get_option('datadir') / 'doc'", "get_option('datadir') / 'docs'"
            ),
            f"{ADT}/meson.build": lambda text: substitute(
                "c_args: vectorize_cflags", "c_args: ['-O1']"
            )(substitute("  'acl.c',\n", "  'acl.c',\n  'landspeed.c',\n")(text)),
        },
        MENDED: {f"{ADT}/meson.build": substitute("  'landspeed.c',\n", "")},
    },
}


def make_walk(history: History, release_tree: str, system: BuildSystem) -> dict[str, str]:
    """What is tried → the commit that tries it, in the order to go; all made in *history*."""
    history.begin(release_tree)
    parser = _shipped_parser(history, release_tree) if system is BuildSystem.CONFIGURE else {}
    for name, edits in _COMMON.items():
        more = parser if name == BUILD_FILES else {}
        history.commit(name, {**edits, **_OWN[system].get(name, {}), **more})
    stops = {}
    for name, commit in history.tips.items():
        stops[name] = commit
        if name == FOLLOWED:
            stops[STEP_BACK] = history.tips[ONE_FILE]
    if parser:
        outdated = {f"{GRAM}.y": substitute("unknown role option", "no such role option")}
        stops[OUTDATED] = history.commit(OUTDATED, outdated)
    # back over the file that was deleted
    return stops | dict.fromkeys((JUMP_BACK, CORRUPTED), history.tips[BUILD_FILES])


def _shipped_parser(history: History, release_tree: str) -> Edits:
    # all files of a clean tree are of one age: make takes a parser that is there for current
    return {
        f"{GRAM}.{suffix}": history.git("show", f"{release_tree}:{GRAM}.{suffix}")
        for suffix in ("c", "h")
    }
