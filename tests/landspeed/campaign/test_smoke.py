"""`landspeed build --check`: what is tried of a server, what its table says, how it ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from base.build import Build, Variant
from base.errors import BuildError
from base.paths import Paths
from benchmarks.clients.pgbench import Pgbench
from benchmarks.data.template_store import TemplateStore
from benchmarks.machine.machine import Machine
from benchmarks.measure import prepare, templates
from benchmarks.smoke import SMOKE_CHECKS, SmokeCheck, smoke_checks
from landspeed.campaign.smoke import SmokeResult, check_failure, check_table
from landspeed.console.table import as_text
from landspeed.session.target import Target
from tests.kits.builds.buildkit import a_build
from tests.kits.servers.cluster_kit import processes_in, server_paths


def row(word: str, *, build: Build | BuildError | None = None, **failing: str) -> SmokeResult:
    made = [
        SmokeCheck(name=name, ok=name not in failing, seen=failing.get(name, f"seen {name}"))
        for name in SMOKE_CHECKS
    ]
    return SmokeResult(
        target=Target.parse(word, Variant()),
        build=build or a_build("13.16-bs8-abc"),
        checks=() if isinstance(build, BuildError) else made,
    )


UNBUILT = row("9.0", build=BuildError("could not build PostgreSQL 9.0", detail="log: there"))


def test_the_table_has_a_row_for_each_with_the_sizes_and_speeds_seen():
    lines = as_text(check_table([row("13"), UNBUILT])).splitlines()
    assert lines[0].split() == ["target", "version", "built", "by", *SMOKE_CHECKS]
    assert "13:bs8" in lines[1]
    assert "seen block_size" in lines[1]
    assert lines[2].split() == ["9.0:bs8", "-", "FAILED", *["-"] * len(SMOKE_CHECKS)]


def test_checks_that_went_well_end_without_an_error():
    assert check_failure([row("13"), row("18")]) is None


def test_one_that_failed_makes_the_end_a_failure_that_says_all():
    error = check_failure([row("13"), row("18", start="error:  no semaphores"), UNBUILT])
    assert error is not None
    assert error.message == "2 of 3 checks of servers failed, the others are done"
    assert "18:bs8 start\nerror:  no semaphores" in error.detail
    assert "could not build PostgreSQL 9.0" in error.detail
    assert error.exit_code != 0


def test_json_has_every_check():
    facts = row("13", stop="error:  it hung").facts()
    assert not facts["ok"]
    assert facts["build"] == "13.16-bs8-abc"
    assert [t["name"] for t in facts["trials"]] == list(SMOKE_CHECKS)
    assert facts["trials"][-4] == {"name": "stop", "ok": False, "seen": "error:  it hung"}
    assert UNBUILT.facts()["error"].startswith("error:")


# --- a real server -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def paths() -> Iterator[Paths]:
    with server_paths() as found:
        yield found


def tried(build: Build, client: Build, paths: Paths) -> dict[str, SmokeCheck]:
    made = smoke_checks(
        build=build, pgbench=Pgbench(build=client), machine=Machine.detect("here"), paths=paths
    )
    return {trial.name: trial for trial in made}


@pytest.mark.postgres
def test_a_real_server_passes_every_check_as_another_user_than_root_and_leaves_nothing(
    newest_build, pgbench_build, paths
):
    made = tried(newest_build, pgbench_build, paths)
    assert list(made) == list(SMOKE_CHECKS)
    assert [trial for trial in made.values() if not trial.ok] == []
    assert made["start"].seen != "root"
    assert made["block_size"].seen == made["wal_block_size"].seen == "8192"
    assert made["psycopg"].seen == str(newest_build.version)
    assert not list((paths.server_root / "templates").glob("*/"))
    assert not list((paths.server_root / "runs").glob("*/"))
    assert processes_in(paths.cache) == {}
    assert not paths.results.exists()


@pytest.mark.postgres
def test_a_server_that_is_not_what_its_build_says_fails_that_trial_and_goes_on(
    newest_build, pgbench_build, paths
):
    lying = replace(newest_build, variant=Variant(blocksize=4))
    made = tried(lying, pgbench_build, paths)
    assert "block_size is not 4096" in made["block_size"].seen
    # a segment is counted in blocks
    assert [trial.name for trial in made.values() if not trial.ok] == ["block_size", "segment_size"]


@pytest.mark.postgres
def test_a_server_that_does_not_start_fails_and_what_needs_it_is_not_tried(
    newest_build, pgbench_build, paths
):
    prefix = paths.cache / "broken"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "share").mkdir()
    for path in (newest_build.prefix / "bin").iterdir():
        (prefix / "bin" / path.name).symlink_to(path)
    (prefix / "bin" / "initdb").unlink()
    (prefix / "bin" / "initdb").write_text("#!/bin/sh\necho no locale today >&2; exit 1\n")
    (prefix / "bin" / "initdb").chmod(0o755)
    made = tried(replace(newest_build, prefix=prefix), pgbench_build, paths)
    assert made["initdb"].ok is False
    assert "no locale today" in made["initdb"].seen
    assert {trial.ok for name, trial in made.items() if name != "initdb"} == {None}


@pytest.mark.postgres
def test_a_template_that_was_there_before_is_still_there(newest_build, pgbench_build, paths):
    store = templates(paths, Pgbench(build=pgbench_build))
    prepare(build=newest_build, scale=1, store=store)
    loaded = TemplateStore(root=store.home.templates)
    before = loaded.reclaimable_bytes()
    assert before > 0
    tried(newest_build, pgbench_build, paths)
    assert loaded.reclaimable_bytes() >= before
