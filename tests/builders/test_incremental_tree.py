"""The kept tree: when it is continued, when it starts anew, and that both make the same."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from base.build import Build, Variant
from base.errors import BuildError
from base.files import remove_tree
from builders.builder import Builder
from builders.sandbox import Host
from builders.store import Store
from tests.kits.builds.buildkit import PROGRAM, QuickBuilder, programs
from tests.kits.builds.sourcekit import GitUpstream, Harness

pytestmark = pytest.mark.slow

CONFIGURE = """#!/bin/sh
PACKAGE_VERSION='13.16'
[ -z "$CONFIG_SITE" ] || . "$CONFIG_SITE"
echo "CC = $CC" > config.mk
echo "PREFIX = /opt/pgsql" >> config.mk
if [ -e "$cache_file" ]; then echo cached; else echo checked; fi >> PLACE/configured
[ -z "$cache_file" ] || echo answers > "$cache_file"
"""
BACKEND = """
include ../../config.mk
OBJS = one.o two.o
all: postgres
%.o: %.c shared.h
	$(CC) $< -o $@
postgres: $(OBJS)
	cat $(OBJS) > $@
install: postgres
	mkdir -p $(DESTDIR)$(PREFIX)/bin && cp postgres $(DESTDIR)$(PREFIX)/bin
"""
GCC = """
[ "$1" = --version ] && { echo 'gcc (Pretended) 12.2.0'; exit; }
echo "$1" >> PLACE/compiled
! grep error "$1" || exit 1
cat shared.h "$1" > "$3"
"""
ONE, TWO, SHARED = (f"src/backend/{name}" for name in ("one.c", "two.c", "shared.h"))


class Position:
    """A pretended history, a Builder that walks it, and what its tools wrote down."""

    def __init__(self, root: Path) -> None:
        self.root = root
        gcc = root / "bin/gcc"
        gcc.write_text("#!/bin/sh" + GCC.replace("PLACE", str(root)))
        self.upstream = GitUpstream(root / "upstream")
        harness = Harness(root)
        self.builder: Builder = QuickBuilder(
            paths=harness.paths,
            sources=harness.sources(order=("git",), upstream=str(self.upstream.directory)),
            sandbox=Host(ccache=harness.paths.ccache, jobs=2),
            store=Store(root=harness.paths.store, limit=10**9),
        )
        self.commit(
            {
                "configure": CONFIGURE.replace("PLACE", str(root)),
                "src/backend/Makefile": BACKEND,
                ONE: "one\n",
                TWO: "two\n",
                SHARED: "shared\n",
                **{
                    f"src/bin/{name}/Makefile": PROGRAM.format(top="../../../", name=name)
                    for name in ("initdb", "pg_config")
                },
            }
        )

    def commit(self, files: dict[str, str | None]) -> str:
        """The hash of a new commit of *files*; None removes one."""
        for name, text in files.items():
            path = self.upstream.directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                path.unlink()
            else:
                path.write_text(text)
        (self.upstream.directory / "configure").chmod(0o755)
        self.upstream.git("add", "--all")
        self.upstream.git("commit", "--quiet", "--allow-empty", "-m", "more")
        (self.root / "cache/upstream.stamp").unlink(missing_ok=True)
        return self.upstream.git("rev-parse", "HEAD")

    def build(self, ref: str = "master", builder: Builder | None = None) -> Build:
        """The Build of *ref*, made now."""
        maker = builder or self.builder
        remove_tree(maker.store.root)
        source = maker.sources.resolve(ref)
        return maker.build(source, Variant(), progress=lambda _: None)

    def compiled(self) -> list[str]:
        """What was compiled since this was last asked."""
        return self._written("compiled")

    def configured(self) -> list[str]:
        """How configure was run since this was last asked: ``checked`` or ``cached``."""
        return self._written("configured")

    def _written(self, name: str) -> list[str]:
        path = self.root / name
        lines = sorted(path.read_text().split()) if path.exists() else []
        path.unlink(missing_ok=True)
        return lines

    @property
    def kept(self) -> Path:
        (directory,) = self.builder.paths.trees.glob("kept/*/")
        return directory


@pytest.fixture
def place(tmp_path, monkeypatch) -> Position:
    """A Place whose first commit was built."""
    monkeypatch.setenv("PATH", f"{programs(tmp_path / 'bin')}:{os.environ['PATH']}")
    made = Position(tmp_path)
    made.build()
    assert made.compiled() == ["one.c", "two.c"]
    assert made.configured() == ["checked"]
    return made


def server(build: Build) -> str:
    return build.program("postgres").read_text()


# --- it is continued -------------------------------------------------------------------------


def test_only_what_changed_is_compiled(place):
    place.commit({TWO: "2\n"})
    assert server(place.build()) == "shared\none\nshared\n2\n"
    assert place.compiled() == ["two.c"]
    assert place.configured() == []


def test_a_header_is_compiled_into_all_that_include_it(place):
    place.commit({SHARED: "all\n"})
    assert server(place.build()) == "all\none\nall\ntwo\n"
    assert place.compiled() == ["one.c", "two.c"]


def test_going_back_compiles_what_differs_though_its_commit_is_older(place):
    first = place.upstream.git("rev-parse", "HEAD")
    place.commit({TWO: "2\n"})
    place.build()
    place.compiled()
    assert server(place.build(first)) == "shared\none\nshared\ntwo\n"
    assert place.compiled() == ["two.c"]


def test_what_nothing_is_made_of_may_come_and_go(place):
    place.commit({"doc/src/new.sgml": "new\n", "src/test/sql/new.sql": "new\n"})
    place.build()
    assert (place.kept / "tree/doc/src/new.sgml").exists()
    place.commit({"doc/src/new.sgml": None})
    place.build()
    assert not (place.kept / "tree/doc").exists()
    assert place.compiled() == []


def test_the_digest_is_that_of_a_clean_build(place, tmp_path):
    place.commit({TWO: "2\n"})
    paths = replace(place.builder.paths, cache=tmp_path / "another")
    clean = replace(
        place.builder,
        paths=paths,
        store=Store(root=paths.store, limit=10**9),
        keeps_trees=False,
    )
    assert place.build().digest == place.build(builder=clean).digest
    assert not (paths.trees / "kept").exists()


# --- it starts anew --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "files",
    [
        {"src/backend/Makefile": BACKEND + "# more\n"},
        {"src/backend/new.h": "new\n"},
        {"src/backend/gen.pl": "1;\n"},
    ],
    ids=["makefile", "new header", "script"],
)
def test_what_make_does_not_follow_starts_anew_with_what_configure_knew(place, files):
    place.commit(files)
    place.build()
    assert place.compiled() == ["one.c", "two.c"]
    assert place.configured() == ["cached"]


def test_a_changed_configure_starts_anew_and_checks_all_again(place):
    text = CONFIGURE.replace("PLACE", str(place.root))
    place.commit({"configure": text + "# more\n"})
    place.build()
    assert place.configured() == ["checked"]
    assert len(list(place.kept.glob("*.config.cache"))) == 1


def test_what_configure_knew_is_not_believed_once_it_was_changed_by_hand(place):
    (kept,) = place.kept.glob("*.config.cache")
    kept.write_text("lies\n")
    place.commit({"src/backend/Makefile": BACKEND + "# more\n"})
    place.build()
    assert place.configured() == ["checked"]


def test_a_package_that_was_installed_starts_anew_and_checks_all_again(
    place, tmp_path, monkeypatch
):
    monkeypatch.setattr("builders.incremental_tree._SYSTEM", (str(tmp_path),))
    place.commit({TWO: "2\n"})
    place.build()
    assert place.compiled() == ["one.c", "two.c"]
    assert place.configured() == ["checked"]


def corrupt_an_object(tree: Path) -> None:
    path = tree / "src/backend/one.o"
    status = path.stat()
    path.write_text("shared\nuno\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def edit_a_source(tree: Path) -> None:
    (tree / "src/backend/one.c").write_text("hand made\n")


def remove_a_source(tree: Path) -> None:
    (tree / "src/backend/one.c").unlink()


def add_a_file(tree: Path) -> None:
    (tree / "src/backend/GNUmakefile").write_text("all:\n")


def remove_the_stamp(tree: Path) -> None:
    (tree.parent / "TRUSTED.json").unlink()


def spoil_the_stamp(tree: Path) -> None:
    (tree.parent / "TRUSTED.json").write_text('{"tree": "')


def put_a_copy_in_place(tree: Path) -> None:
    shutil.copytree(tree, tree.with_name("copy"))
    remove_tree(tree)
    tree.with_name("copy").rename(tree)


@pytest.mark.parametrize(
    "damage",
    [
        corrupt_an_object,
        edit_a_source,
        remove_a_source,
        add_a_file,
        remove_tree,
        remove_the_stamp,
        spoil_the_stamp,
        put_a_copy_in_place,
    ],
)
def test_a_tree_that_was_touched_by_hand_starts_anew(place, damage):
    damage(place.kept / "tree")
    place.commit({TWO: "2\n"})
    assert server(place.build()) == "shared\none\nshared\n2\n"
    assert place.compiled() == ["one.c", "two.c"]


def test_a_commit_that_does_not_compile_is_believed_only_of_a_clean_tree(place):
    place.commit({TWO: "error\n"})
    with pytest.raises(BuildError) as caught:
        place.build()
    assert place.compiled().count("two.c") == 2
    assert str(place.kept / "tree") in caught.value.detail
    place.commit({TWO: "2\n"})
    assert server(place.build()) == "shared\none\nshared\n2\n"
    assert place.compiled() == ["one.c", "two.c"]


def test_a_build_that_changes_a_file_of_the_commit_is_done_again_anew(place):
    """As make does with a shipped gram.c when only gram.y has changed."""
    rule = "two.c: two.y\n\tcp two.y two.c\n"
    makefile = BACKEND.replace("all: postgres\n", "all: postgres\n" + rule, 1)
    place.commit({"src/backend/Makefile": makefile, "src/backend/two.y": "two\n"})
    place.build()
    place.compiled()
    place.commit({"src/backend/two.y": "newer\n"})
    assert server(place.build()) == "shared\none\nshared\ntwo\n"
    assert place.compiled() == ["one.c", "two.c", "two.c"]


def test_a_clock_that_was_set_back_starts_anew(place, monkeypatch):
    place.commit({TWO: "2\n"})
    earlier = time.time_ns() - 10**12
    monkeypatch.setattr("builders.incremental_tree.time.time_ns", lambda: earlier)
    assert server(place.build()) == "shared\none\nshared\n2\n"
    assert place.configured() == ["cached"]


def test_a_tree_that_git_no_longer_knows_starts_anew(place, tmp_path):
    stamp = place.kept / "TRUSTED.json"
    tree = place.upstream.git("rev-parse", "HEAD^{tree}")
    stamp.write_text(stamp.read_text().replace(tree, "0" * 39 + "1"))
    place.commit({TWO: "2\n"})
    assert server(place.build()) == "shared\none\nshared\n2\n"
    assert place.configured() == ["cached"]


def test_where_objects_do_not_stay_with_the_source_nothing_is_kept(place):
    class Elsewhere(Host):
        builds_in_place = False

    sandbox = Elsewhere(ccache=place.builder.sandbox.ccache, jobs=2)
    place.commit({TWO: "2\n"})
    before = list(place.builder.paths.trees.iterdir())
    place.build(builder=replace(place.builder, sandbox=sandbox))
    assert place.configured() == ["checked"]
    assert list(place.builder.paths.trees.iterdir()) == before
