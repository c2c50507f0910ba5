"""Servers that somebody else built: registered by their pg_config, measured like any other."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from base.build import Build, Variant
from base.errors import RefError, UsageError
from base.paths import Paths
from base.version import Version
from benchmarks.clients.pgbench import Pgbench
from benchmarks.machine.machine import Machine
from benchmarks.records.record import Record
from benchmarks.records.store import RecordStore
from benchmarks.smoke import smoke_checks
from builders.external import ExternalServers, inspect
from landspeed.cli.build import register
from landspeed.console.table import as_text
from landspeed.results.point_query import parse_point
from landspeed.results.points import Dots
from landspeed.results.show import details, find_points
from landspeed.session.session import Session
from landspeed.session.target import Target
from tests.kits.made_up.synthetic import Point, record
from tests.kits.servers.cluster_kit import server_paths

SAID = "PostgreSQL 15.18 (Debian 15.18-0+deb12u1)"
DEBIAN = {
    "bindir": "usr/lib/postgresql/15/bin",
    "libdir": "usr/lib/x86_64-linux-gnu",
    "pkglibdir": "usr/lib/postgresql/15/lib",
    "sharedir": "usr/share/postgresql/15",
}


def write_program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def write_pg_config(path: Path, directories: dict[str, str], said: str) -> Path:
    facts = {key.upper(): value for key, value in directories.items()}
    facts |= {"CONFIGURE": "'--with-llvm'", "CC": "gcc", "CFLAGS": "-g -O2", "VERSION": said}
    return write_program(path, "\n".join(f'echo "{k} = {v}"' for k, v in facts.items()))


def install(root: Path, said: str = SAID) -> Path:
    """A pretended server below *root*, its parts where Debian has them; its pg_config."""
    directories = {key: str(root / path) for key, path in DEBIAN.items()}
    for path in directories.values():
        Path(path).mkdir(parents=True)
    for name in ("postgres", "initdb", "pg_controldata"):
        write_program(Path(directories["bindir"]) / name, f"echo {name}")
    return write_pg_config(root / "usr/bin/pg_config", directories, said)


@pytest.fixture
def external_servers(tmp_path):
    return ExternalServers(root=tmp_path / "foreign")


def registered(
    external_servers: ExternalServers, pg_config: Path, name: str | None = "debian15"
) -> Build:
    return external_servers.put(inspect(str(pg_config), name))


def test_a_server_is_known_by_what_its_pg_config_says(tmp_path, external_servers):
    build = registered(external_servers, install(tmp_path))
    assert build.version == Version.parse("15.18")
    assert build.program("postgres") == tmp_path / DEBIAN["bindir"] / "postgres"
    assert build.environment()["LD_LIBRARY_PATH"] == str(tmp_path / DEBIAN["libdir"])
    assert external_servers.find("debian15") == build
    assert external_servers.all() == [build]


def test_its_provenance_says_that_somebody_else_built_it(tmp_path, external_servers):
    facts = registered(external_servers, install(tmp_path)).facts()
    assert facts["origin"]["registered"] == "debian15"
    assert (facts["origin"]["release"], facts["origin"]["commit"]) == (None, None)
    assert facts["build_system"] == "foreign"
    assert facts["foreign"]["said"] == SAID
    assert facts["toolchain"] == {"cc": "gcc", "cflags": "-g -O2", "configure": "'--with-llvm'"}


def test_without_a_name_it_is_called_by_its_version(tmp_path, external_servers):
    assert registered(external_servers, install(tmp_path), None).label == "@15.18 bs8"


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("PostgreSQL 15.18 (Debian 15.18-0+deb12u1)", "15.18"),
        ("PostgreSQL 16.4 - Percona Server for PostgreSQL 16.4.2", "16.4"),
        ("PostgreSQL 16.4-acme", "16.4"),
        ("PostgreSQL 14.5.0", "14.5"),
        ("PostgreSQL 9.6.24.30", "9.6.24"),
        ("PostgreSQL 8.3.23", "8.3.23"),
        ("PostgreSQL 19devel", "19devel"),
        ("PostgreSQL 18beta2-next", "18beta2"),
    ],
)
def test_what_vendors_add_to_a_version_is_tolerated(tmp_path, said, version):
    assert inspect(str(install(tmp_path, said)), None).version == Version.parse(version)


@pytest.mark.parametrize("said", ["PostgreSQL", "PostgreSQL 7.4.30", "PostgreSQL 8.2.23"])
def test_a_version_that_is_none_or_too_old_is_refused(tmp_path, said):
    with pytest.raises(UsageError):
        inspect(str(install(tmp_path, said)), "x")


@pytest.mark.parametrize("name", ["", "a b", "../up", "-x", "a/b", ".hidden", "a" * 101])
def test_a_name_that_could_not_be_typed_as_a_target_is_refused(tmp_path, name):
    with pytest.raises(UsageError, match="is not a name"):
        inspect(str(install(tmp_path)), name)


def test_a_path_that_is_no_program_is_refused(tmp_path):
    with pytest.raises(UsageError, match="is not a program"):
        inspect(str(tmp_path / "pg_config"), None)


@pytest.mark.parametrize("text", ["exit 1", "echo hello", "echo 'VERSION = PostgreSQL 15.1'"])
def test_a_program_that_is_no_pg_config_is_refused(tmp_path, text):
    with pytest.raises(UsageError, match="is not the pg_config of an installed server"):
        inspect(str(write_program(tmp_path / "pg_config", text)), None)


def test_a_pg_config_without_its_server_is_refused_and_what_is_missing_is_named(tmp_path):
    pg_config = install(tmp_path)
    (tmp_path / DEBIAN["bindir"] / "initdb").unlink()
    with pytest.raises(UsageError) as caught:
        inspect(str(pg_config), None)
    assert "initdb" in caught.value.detail
    assert "client" in caught.value.hint


def test_a_name_stands_for_one_server(tmp_path, external_servers):
    registered(external_servers, install(tmp_path / "one"))
    with pytest.raises(UsageError, match='"debian15" is registered already'):
        registered(external_servers, install(tmp_path / "other"))
    again = registered(external_servers, tmp_path / "one/usr/bin/pg_config")
    assert external_servers.all() == [again]


def test_a_server_that_was_replaced_is_refused_until_it_is_registered_anew(
    tmp_path, external_servers
):
    pg_config = install(tmp_path)
    before = registered(external_servers, pg_config)
    write_program(tmp_path / DEBIAN["bindir"] / "postgres", "echo upgraded")
    with pytest.raises(RefError, match="is not the same any more") as caught:
        external_servers.find("debian15")
    assert str(pg_config) in caught.value.hint
    after = registered(external_servers, pg_config)
    assert external_servers.find("debian15") == after
    assert after.digest != before.digest


def test_a_server_that_was_removed_is_refused(tmp_path, external_servers):
    registered(external_servers, install(tmp_path))
    shutil.rmtree(tmp_path / "usr")
    with pytest.raises(RefError, match="is not the same any more"):
        external_servers.find("debian15")


def test_a_name_that_nobody_registered_is_one_clear_error(tmp_path, external_servers):
    registered(external_servers, install(tmp_path))
    with pytest.raises(RefError) as caught:
        external_servers.find("debian16")
    assert caught.value.message == 'no server is registered as "debian16"'
    assert "@debian15" in caught.value.detail


# --- as a target ---------------------------------------------------------------------------


def test_a_registered_server_is_spelled_with_an_at_sign_and_has_its_own_variant():
    target = Target.parse("@debian15", Variant(blocksize=4))
    assert target.registered == str(target)[1:] == "debian15"
    assert Target.parse(str(target), Variant()) == target
    with pytest.raises(UsageError, match="a variant of a server"):
        Target.parse("@debian15:bs4", Variant())


@pytest.mark.parametrize("word", ["18", "@", "@~3", "@{upstream}", "HEAD@{1}"])
def test_a_revision_of_git_is_not_taken_for_a_registered_server(word):
    assert Target.parse(word, Variant()).registered is None


# --- its runs ------------------------------------------------------------------------------


@pytest.fixture
def records(tmp_path) -> RecordStore:
    """Runs of a release and of two registered servers."""
    store = RecordStore(tmp_path / "records")
    store.add(Record.from_json(record(Point())))
    for number, name in enumerate(("debian15", "vendor15")):
        made = record(Point(), number=number + 1)
        made["build"]["digest"] = name
        made["build"]["origin"] = {
            "release": None,
            "commit": None,
            "tree": "",
            "date": "2026-05-14",
            "registered": name,
        }
        made["build"]["foreign"] = {"pg_config": "/usr/bin/pg_config", "said": SAID}
        store.add(Record.from_json(made))
    return store


def test_runs_of_registered_servers_are_points_of_their_own(records):
    names = {dot.origin.name for dot in Dots(records.table())}
    assert names == {"18.1", "@debian15", "@vendor15"}


@pytest.mark.parametrize("text", ["@debian15", "@debian15:bs8/read-only"])
def test_its_points_are_shown_by_its_name(records, text):
    (point,) = find_points(records.table(), parse_point(text, lambda _: None))
    assert point.name.startswith("@debian15:bs8/read-only/")
    (again,) = find_points(records.table(), parse_point(point.name, lambda _: None))
    assert again == point
    shown = as_text(details(point, [records.get(point.runs[0].id)]))
    assert "built elsewhere" in shown
    assert SAID in shown


# --- a real server -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def paths() -> Iterator[Paths]:
    with server_paths() as found:
        yield found


@pytest.mark.postgres
def test_a_real_server_laid_out_in_another_way_is_registered_and_passes_every_trial(
    paths, newest_build, pgbench_build
):
    """The parts are where a distribution has them; links lead the server there."""
    root = paths.cache / "elsewhere"
    places = {
        "bindir": root / "usr/lib/postgresql/18/bin",
        "libdir": root / "usr/lib/x86_64-linux-gnu",
        "sharedir": root / "usr/share/postgresql/18",
    }
    for part, place in zip(("bin", "lib", "share"), places.values(), strict=True):
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(newest_build.prefix / part, place, symlinks=True)
    for part in ("lib", "share"):
        place = places[f"{part}dir"]
        link = places["bindir"].with_name(part)
        link.symlink_to(os.path.relpath(place, link.parent))
    directories = {name: str(place) for name, place in places.items()}
    directories["pkglibdir"] = str(places["libdir"] / "postgresql")
    said = f"PostgreSQL {newest_build.version} (Somebody's 1.2)"
    pg_config = write_pg_config(root / "usr/bin/pg_config", directories, said)

    session = Session(paths=paths)
    build = register(session, str(pg_config), "mine")
    assert build.variant == newest_build.variant
    assert session.named(Target.parse("@mine", Variant())) == build
    made = smoke_checks(
        build=build,
        pgbench=Pgbench(build=pgbench_build),
        machine=Machine.detect("here"),
        paths=paths,
    )
    assert [trial for trial in made if not trial.ok] == []
    assert replace(build, external=None).program("postgres").exists() is False
