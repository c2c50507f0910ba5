"""A real PostgreSQL, built: it runs from wherever it stands, and is the same when built again.

The newest release is taken from the store, or built once (minutes), for all tests here.
"""

from __future__ import annotations

import os
import pwd
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from base.build import Build, Variant
from base.paths import Paths, server_user
from builders.builder import Builder
from builders.recipe import BuildSystem
from builders.store import Store

pytestmark = pytest.mark.postgres

NEEDED = {"postgres", "initdb", "pg_ctl", "psql", "pg_config", "pg_controldata", "pgbench"}


@pytest.fixture(scope="module")
def maker() -> Builder:
    return Builder.open(Paths.find(), print)


@pytest.fixture(scope="module")
def newest(maker) -> Build:
    return maker.build(maker.newest_stable(), Variant(), progress=lambda _: None)


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A new directory that the server's user owns and can reach (pytest's own is root's alone)."""
    with tempfile.TemporaryDirectory(prefix="landspeed-test-", dir="/var/tmp") as name:
        directory = Path(name)
        user = server_user()
        if user is not None:
            os.chown(directory, user.pw_uid, user.pw_gid)
        yield directory


def said(build: Build, program: str, *arguments: str, user: pwd.struct_passwd | None = None) -> str:
    """What *program* of *build* prints, run as *user* where that is not us."""
    return subprocess.run(
        [build.program(program), *arguments],
        env=build.environment() | {"PATH": os.defpath},
        capture_output=True,
        text=True,
        check=True,
        user=user.pw_uid if user else None,
        group=user.pw_gid if user else None,
        extra_groups=() if user else None,
        cwd="/",
    ).stdout


def test_the_server_and_its_programs_are_installed_and_say_their_version(newest):
    installed = {path.name for path in (newest.prefix / "bin").iterdir()}
    assert installed >= NEEDED
    for program in sorted(NEEDED):
        assert said(newest, program, "--version").endswith(
            f" {newest.version}\n".replace(") ", " ")
        )


def test_nothing_for_development_is_installed(newest):
    names = [p.name for p in newest.prefix.rglob("*") if p.is_file()]
    assert not [name for name in names if name.endswith((".a", ".h", ".o", ".pc"))]


def test_only_the_owner_can_write_what_is_installed(newest):
    loose = [p for p in newest.prefix.rglob("*") if not p.is_symlink() and p.stat().st_mode & 0o022]
    assert loose == []


def test_pg_config_tells_the_options_and_where_it_stands(newest):
    assert said(newest, "pg_config", "--bindir").strip() == str(newest.prefix / "bin")
    told = said(newest, "pg_config", "--configure")
    for option in ("-Db_staticpic=false", "-Dblocksize=8", "-Dbuildtype=debugoptimized"):
        assert option in told
    assert "ccache" not in said(newest, "pg_config", "--libdir")


def test_no_installed_file_knows_where_it_was_built_or_is_stored(newest, maker):
    ours = (str(maker.paths.trees).encode(), str(maker.paths.store).encode())
    knowing = [
        path.name
        for path in newest.prefix.rglob("*")
        if path.is_file()
        and path.name != "BUILD.json"
        and any(o in path.read_bytes() for o in ours)
    ]
    assert knowing == []


def test_a_copied_prefix_makes_a_cluster_as_an_unprivileged_user(newest, open_directory):
    copy = replace(newest, prefix=open_directory / "elsewhere")
    shutil.copytree(newest.prefix, copy.prefix, symlinks=True)
    copy.prefix.chmod(copy.prefix.stat().st_mode | stat.S_IROTH | stat.S_IXOTH)
    assert said(copy, "pg_config", "--sharedir").startswith(str(copy.prefix))
    data = open_directory / "data"
    said(copy, "initdb", "-D", str(data), "-N", "-A", "trust", user=server_user())
    facts = said(copy, "pg_controldata", "-D", str(data), user=server_user())
    assert "Database block size:                  8192\n" in facts


def test_built_again_with_a_warm_ccache_it_is_the_very_same_server(maker, newest, tmp_path):
    """Another store, another tree: where it is built must not show."""
    paths = replace(maker.paths, cache=tmp_path)
    again = replace(maker, paths=paths, store=Store(root=paths.store, limit=maker.store.limit))
    rebuilt = again.build(maker.newest_stable(), Variant(), progress=lambda _: None)
    assert rebuilt.identifier == newest.identifier
    assert rebuilt.digest == newest.digest
    assert not list(paths.trees.iterdir())


def test_a_build_by_configure_would_be_another_build_of_the_same_source(maker, newest):
    source = maker.newest_stable()
    plan = maker.recipe(source, Variant(), BuildSystem.CONFIGURE)
    assert maker.identifier(source, plan) != newest.identifier
    assert source.origin == newest.origin
