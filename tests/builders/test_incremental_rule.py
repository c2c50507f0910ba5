"""The rule by which a kept tree is continued, and how many trees are kept."""

from __future__ import annotations

import os

import pytest

from base.files import locked
from builders.incremental_tree import starts_anew, taken, trim
from builders.recipe_table import BuildSystem
from builders.source import Change, ChangeKind


def change(path: str, kind: ChangeKind = ChangeKind.MODIFIED) -> Change:
    return Change(path=path, kind=kind, mode="100644", blob="b" * 40)


@pytest.mark.parametrize(
    "path",
    [
        "src/backend/access/transam/xact.c",
        "src/include/c.h",
        "src/backend/parser/gram.y",
        "src/backend/parser/scan.l",
        "src/include/catalog/pg_proc.dat",
        "src/backend/utils/errcodes.txt",
        "src/backend/utils/misc/postgresql.conf.sample",
        "doc/src/sgml/config.sgml",
        "doc/src/sgml/ref/abort.sgml",
        "contrib/pg_trgm/Makefile",
        "contrib/meson.build",
        "src/test/modules/meson.build",
        "src/bin/pg_ctl/t/001_start_stop.pl",
        "src/tools/pgindent/typedefs.list",
        "src/backend/po/de.po",
        ".git-blame-ignore-revs",
        "src/backend/storage/lmgr/README",
    ],
)
def test_a_change_of_this_file_is_followed(path):
    assert not any(starts_anew(change(path), system) for system in BuildSystem)


@pytest.mark.parametrize(
    "path",
    [
        "configure",
        "configure.ac",
        "config/c-compiler.m4",
        "meson.build",
        "meson_options.txt",
        "src/backend/utils/adt/meson.build",
        "src/Makefile.global.in",
        "src/Makefile.shlib",
        "src/template/linux",
        "src/backend/common.mk",
        "src/backend/utils/adt/Makefile",
        "src/include/pg_config.h.in",
        "src/backend/catalog/genbki.pl",
        "src/backend/catalog/Catalog.pm",
        "src/tools/pgflex",
        "src/timezone/data/tzdata.zi",
    ],
)
def test_a_change_of_this_file_starts_anew(path):
    assert all(starts_anew(change(path), system) for system in BuildSystem)


@pytest.mark.parametrize(
    "kind", [ChangeKind.ADDED, ChangeKind.DELETED, ChangeKind.RETYPED], ids=str
)
def test_a_source_that_comes_goes_or_becomes_a_link_starts_anew(kind):
    assert starts_anew(change("src/include/c.h", kind), BuildSystem.MESON)
    assert not starts_anew(change("doc/src/sgml/new.sgml", kind), BuildSystem.MESON)


def test_a_program_that_is_not_built_may_come_and_go():
    for kind in (ChangeKind.ADDED, ChangeKind.DELETED):
        assert not starts_anew(change("src/bin/psql/crosstabview.c", kind), BuildSystem.MESON)
        assert starts_anew(change("src/bin/pgbench/new.c", kind), BuildSystem.MESON)


def test_builds_side_by_side_have_a_tree_each_and_find_it_again(tmp_path):
    with (
        taken(tmp_path, "bs8", None) as (one, _),
        taken(tmp_path, "bs8", None) as (other, _),
    ):
        assert one.directory != other.directory
    with taken(tmp_path, "bs8", None) as (again, _):
        assert again == one


def test_the_least_recently_used_trees_are_removed_but_never_one_in_use(tmp_path):
    for number in range(12):
        (tmp_path / f"tree-{number}").mkdir()
        (tmp_path / f"tree-{number}.lock").touch()
        os.utime(tmp_path / f"tree-{number}.lock", (number, number))
    with locked(tmp_path / "tree-1.lock"):
        os.utime(tmp_path / "tree-1.lock", (1, 1))
        trim(tmp_path)
    left = {int(path.name.partition("-")[2]) for path in tmp_path.glob("tree-*/")}
    assert left == {1, *range(4, 12)}
