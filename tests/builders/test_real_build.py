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
from builders.recipe_table import BuildSystem
from builders.store import Store
from tests.kits.places import SCRATCH

pytestmark = pytest.mark.postgres

NEEDED = {"postgres", "initdb", "pg_config", "pg_controldata", "pgbench"}


@pytest.fixture(scope="module")
def maker() -> Builder:
    return Builder.open(Paths.find())


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A new directory that the server's user owns and can reach (pytest's own is root's alone)."""
    with tempfile.TemporaryDirectory(prefix="landspeed-test-", dir=SCRATCH) as name:
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


def test_the_server_and_its_programs_are_installed_and_say_their_version(newest_build):
    installed = {path.name for path in (newest_build.prefix / "bin").iterdir()}
    assert installed >= NEEDED
    for program in sorted(NEEDED - {"pg_config"}):
        assert (
            said(newest_build, program, "--version")
            == f"{program} (PostgreSQL) {newest_build.version}\n"
        )


def test_nothing_for_development_is_installed(newest_build):
    names = [p.name for p in newest_build.prefix.rglob("*") if p.is_file()]
    assert not [name for name in names if name.endswith((".a", ".h", ".o", ".pc", ".mk", ".pm"))]


def test_no_link_leads_nowhere(newest_build):
    links = [path for path in newest_build.prefix.rglob("*") if path.is_symlink()]
    assert links
    assert all(link.exists() for link in links)


def test_contrib_is_not_there_in_part(newest_build):
    extensions = {
        p.name.partition(".")[0] for p in newest_build.prefix.glob("share/extension/*.control")
    }
    assert extensions == {"plpgsql"}


def test_only_the_owner_can_write_what_is_installed(newest_build):
    loose = [
        p for p in newest_build.prefix.rglob("*") if not p.is_symlink() and p.stat().st_mode & 0o022
    ]
    assert loose == []


def test_pg_config_tells_the_version_the_optimisation_and_where_it_stands(newest_build):
    assert said(newest_build, "pg_config", "--version") == f"PostgreSQL {newest_build.version}\n"
    assert "-O2" in said(newest_build, "pg_config", "--cflags").split()
    assert said(newest_build, "pg_config", "--bindir").strip() == str(newest_build.prefix / "bin")


def test_no_installed_file_knows_where_it_was_built_or_is_stored(newest_build, maker):
    ours = (str(maker.paths.trees).encode(), str(maker.paths.store).encode())
    knowing = [
        path.name
        for path in newest_build.prefix.rglob("*")
        if path.is_file()
        and path.name != "BUILD.json"
        and any(o in path.read_bytes() for o in ours)
    ]
    assert knowing == []


def test_a_copied_prefix_makes_a_cluster_as_an_unprivileged_user(newest_build, open_directory):
    copy = replace(newest_build, prefix=open_directory / "elsewhere")
    shutil.copytree(newest_build.prefix, copy.prefix, symlinks=True)
    copy.prefix.chmod(copy.prefix.stat().st_mode | stat.S_IROTH | stat.S_IXOTH)
    assert said(copy, "pg_config", "--sharedir").startswith(str(copy.prefix))
    data = open_directory / "data"
    said(copy, "initdb", "-D", str(data), "-N", "-A", "trust", user=server_user())
    facts = said(copy, "pg_controldata", "-D", str(data), user=server_user())
    assert "Database block size:                  8192\n" in facts


def test_pgbench_alone_is_the_pgbench_that_a_server_is_built_with(maker, newest_build, tmp_path):
    paths = replace(maker.paths, cache=tmp_path)
    alone = replace(maker, paths=paths, store=Store(root=paths.store, limit=maker.store.limit))
    assert alone.find_client() is None
    client = alone.build_client(progress=lambda _: None)
    assert alone.find_client() == client
    assert not client.program("postgres").exists()
    same = [build.program("pgbench").read_bytes() for build in (client, newest_build)]
    assert same[0] == same[1]
    assert said(client, "pgbench", "--version") == f"pgbench (PostgreSQL) {client.version}\n"
    assert maker.find_client() == newest_build


def test_built_again_with_a_warm_ccache_it_is_the_very_same_server(maker, newest_build, tmp_path):
    """Another store, another tree: where it is built must not show."""
    paths = replace(maker.paths, cache=tmp_path)
    again = replace(maker, paths=paths, store=Store(root=paths.store, limit=maker.store.limit))
    rebuilt = again.build(maker.newest_stable(), Variant(), progress=lambda _: None)
    assert rebuilt.identifier == newest_build.identifier
    assert rebuilt.digest == newest_build.digest
    assert not list(paths.trees.iterdir())


def test_a_build_by_configure_would_be_another_build_of_the_same_source(maker, newest_build):
    source = maker.newest_stable()
    plan = maker.recipe(source, Variant(), BuildSystem.CONFIGURE)
    assert maker.identifier(source, plan) != newest_build.identifier
    assert source.origin == newest_build.origin
