"""One bad file never stops the farm: it stays out or is set aside, and all others are used."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import tarfile
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from base.errors import RecordError, UsageError
from base.files import canonical_json, digest_text
from base.typed import to_json
from benchmarks.records.identical_builds import IdenticalBuild
from benchmarks.records.record import Record
from benchmarks.records.segments import pack_segment, write_segment
from benchmarks.records.signatures import unsigned_segments
from benchmarks.records.store import RecordStore
from benchmarks.workloads.scenario import preset_named
from landspeed.bisect.note import BisectionNote
from landspeed.changepoints.changepoint import Confirmation
from landspeed.farm.acceptance import Assigned, assigned_by_name, parse_assigned
from landspeed.farm.coverage import Coverage, cost_estimate
from landspeed.farm.merge import (
    damaged_files,
    is_result,
    merge_results,
    result_files,
    retire,
)
from landspeed.farm.tar import pack_files, unpack_files
from tests.kits.farm.farmer_kit import Farmer, farmer, remote
from tests.kits.made_up.changepoint_kit import origin
from tests.kits.made_up.results_kit import bisection, confirmation, one_of_each, write_journal
from tests.kits.made_up.synthetic import Point, record
from tests.landspeed.farm.test_merge import landspeed

pytestmark = pytest.mark.slow

__all__ = ["farmer", "remote"]  # fixtures

Bad = Callable[[Path], str]


def noise(results: Path) -> str:
    """Noise under its own sha256."""
    content = bytes(range(256)) * 9
    name = f"records/segments/elephant/2026-01/{hashlib.sha256(content).hexdigest()[:32]}.parquet"
    (results / name).parent.mkdir(parents=True, exist_ok=True)
    (results / name).write_bytes(content)
    return name


def note(kind: str, facts: dict[str, object]) -> Bad:
    """A note whose name is right and whose content is *facts*."""

    def made(results: Path) -> str:
        text = canonical_json({"schema": 1, **facts})
        name = f"records/{kind}/{digest_text(text)[:32]}.json"
        (results / name).parent.mkdir(parents=True, exist_ok=True)
        (results / name).write_text(text + "\n")
        return name

    return made


def segment(machine: str = "elephant", month: str = "2026-01", **wrong: object) -> Bad:
    """A Segment of a record, some of whose keys are *wrong*, below any directory."""

    def made(results: Path) -> str:
        facts = record(Point(), number=77) | wrong
        directory = results / "records" / "segments" / machine / month
        path, data = pack_segment(directory, {facts["id"]: json.dumps(facts)})
        write_segment(path, data)
        return path.relative_to(results).as_posix()

    return made


def other_text(old: str, new: str) -> Bad:
    """A Segment whose columns are not those of its record, which has *new* in place of *old*."""

    def made(results: Path) -> str:
        name = segment()(results)
        table = pq.read_table(results / name)
        text = table["record"][0].as_py().replace(old, new)
        assert text != table["record"][0].as_py()
        table = table.set_column(table.schema.get_field_index("record"), "record", [[text]])
        (results / name).unlink()
        pq.write_table(table, results / name)
        digest = hashlib.sha256((results / name).read_bytes()).hexdigest()[:32]
        target = (results / name).with_name(f"{digest}.parquet")
        (results / name).rename(target)
        return target.relative_to(results).as_posix()

    return made


def journal(text: str) -> Bad:
    """A journal with this *text*."""

    def made(results: Path) -> str:
        path = results / "bisect" / "x-y-12345678-1.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return f"bisect/{path.name}"

    return made


def _profile(results: Path) -> str:
    name = f"records/profiles/{'0' * 32}.json.gz"
    (results / name).parent.mkdir(parents=True, exist_ok=True)
    (results / name).write_bytes(b"\x1f\x8b broken")
    return name


DEEP = '{"schema":1,"a":' + "[" * 100_000
BUILD, RUN = record(Point())["build"], record(Point())["run"]
BAD: dict[str, Bad] = {
    "noise": noise,
    "another machine": segment(machine="mammoth"),
    "another month": segment(month="2025-01"),
    "other text": other_text('"tier": "small"', '"tier": "large"'),
    "a large number": other_text('"scale": 5', f'"scale": {2**63}'),
    "no such day": segment(time="2026-01-99T00:00:00Z"),
    "no mode": segment(cell={**record(Point())["cell"], "mode": "../../x"}),
    "a long mode": segment(cell={**record(Point())["cell"], "mode": "m" * 201}),
    "a wide mode": segment(cell={**record(Point())["cell"], "mode": "\N{ELEPHANT}" * 100}),
    "no variant": segment(build=BUILD | {"variant": {"blocksize": 7, "wal_blocksize": 8}}),
    "no commit": segment(build=BUILD | {"origin": BUILD["origin"] | {"commit": "--upload-pack"}}),
    "endless": segment(run=RUN | {"phases": {"pgbench": float("nan")}}),
    "very long": segment(run=RUN | {"phases": {"pgbench": 10**400}}),
    "infinite": segment(sample=record(Point())["sample"] | {"latency_ms": float("inf")}),
    "twin": note("twins", {"a": 1}),
    "twin of nothing": note("twins", {"digest": "0" * 64, "origin": {"commit": 7}}),
    "confirmation": note("confirmations", {"nomination": {}}),
    "typed wrongly": note("confirmations", to_json(confirmation()) | {"finding": {"ratio": "x"}}),
    "bisection": note("bisections", {"report": [], "time": 1, "nomination": {}}),
    "failure": note("failures", {"origin": {}, "variant": 8}),
    "deep": journal(DEEP),
    "no journal": journal('{"schema":1,"inputs":{},"events":[{"event":"run","value":-1}]}'),
    "profile": _profile,
}


def readable(results: Path) -> None:
    """Read all that the commands read."""
    store = RecordStore(results / "records")
    table = store.table()
    assert table.num_rows >= 3
    assert list(store.records(table["id"].to_pylist()))
    Coverage.of(store, preset_named("quick"))
    cost_estimate(store, 2)
    assert len(store.confirmations.read(Confirmation)) == 1
    assert len(store.bisections.read(BisectionNote)) == 1
    assert len(store.identical_builds.read(IdenticalBuild)) == 1


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_file_stays_out_and_all_others_enter(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    one_of_each(theirs)
    good = len(list(result_files(theirs)))
    bad = BAD[kind](theirs)
    assert merge_results(theirs, ours) == good
    assert not (ours / bad).exists()
    assert bad in caplog.text
    readable(ours)
    assert [*damaged_files(ours)] == [bad]


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_file_that_is_there_already_is_set_aside_by_whoever_reads_it(
    kind: str, tmp_path: Path
) -> None:
    one_of_each(tmp_path)
    bad = BAD[kind](tmp_path)
    readable(tmp_path)
    assert [*damaged_files(tmp_path)] == [bad]


def test_a_bad_file_on_the_branch_stops_no_machine_and_is_retired_on_all(farmer, remote):
    one, two = farmer("one"), farmer("two")
    one_of_each(one.paths.results)
    bad = noise(one.paths.results)
    # an older landspeed pushed it
    one.branch._lock().__enter__()
    names = list(result_files(one.paths.results))
    one.branch._send(one.branch._commit(None, names))
    assert two.branch.fetch() == len(names) - 1
    readable(two.paths.results)
    done = landspeed(two, "farm", "results", "check")
    assert done.returncode == 12
    assert bad in done.stdout
    assert landspeed(two, "farm", "results", "check", "--drop").returncode == 0
    assert landspeed(two, "farm", "results", "check").returncode == 0
    assert two.branch.push() == 1
    one.branch.fetch()
    assert not (one.paths.results / bad).exists()
    assert (one.paths.results / "aside" / bad).exists()
    assert landspeed(one, "farm", "results", "check").returncode == 0
    third = farmer("three")
    third.branch.fetch()
    assert not (third.paths.results / bad).exists()


def test_a_job_cannot_retire_the_results_of_others(tmp_path, caplog):
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    for results in (theirs, ours):
        one_of_each(results)
    (name,) = (n for n in result_files(theirs) if "segments" in n)
    retire(theirs, name, "because")
    merge_results(theirs, ours, accept=Assigned().require)
    assert (ours / name).exists()
    assert "retires no results" in caplog.text


def packed(farmer: Farmer, tmp_path: Path, job: str) -> Path:
    """What a job on the machine of *farmer* hands in."""
    file = tmp_path / "incoming" / job / "results.tar"
    pack_files(file, farmer.paths.results, result_files(farmer.paths.results))
    return file


@pytest.mark.parametrize(
    ("assigned", "taken"),
    [
        ({"results-time-a": {"machine": "elephant", "refs": ["18.1", "f" * 40]}}, 1),
        ({"results-time-a": {"machine": "elephant", "refs": ["17.1"]}}, 0),
        ({"results-time-a": {"machine": "mammoth", "refs": ["18.1"]}}, 0),
        ({"results-time-b": {}}, 0),
        (None, 1),
    ],
)
def test_a_job_hands_in_only_what_the_plan_assigned_to_it(farmer, tmp_path, assigned, taken):
    job, home = farmer("job"), farmer("home")
    job.store.add(Record.from_json(record(Point())))
    job.store.seal()
    packed(job, tmp_path, "results-time-a")
    options = ["--assigned", json.dumps(assigned)] if assigned else []
    done = landspeed(home, "farm", "results", "unpack", str(tmp_path / "incoming"), *options)
    assert done.returncode == 0, done.stderr
    assert home.count == taken


@pytest.mark.parametrize("kind", ["confirmations", "bisections"])
def test_a_job_that_counts_does_not_say_what_became_of_other_changes(kind, tmp_path):
    store = RecordStore(tmp_path / "records")
    store.confirmations.add(confirmation())
    store.bisections.add(bisection())
    (name,) = (one for one in result_files(tmp_path) if f"/{kind}/" in one)
    ends = {f"{number:040x}" for number in (0, 64)}
    sides = {str(origin(number).commit) for number in (1, 2)}
    for refs, wrong in ((ends | sides, False), ({"18.1"}, True), (None, False)):
        job = Assigned(refs=None if refs is None else frozenset(refs))
        with pytest.raises(RecordError) if wrong else nullcontext():
            job.require(tmp_path / name, name)


def test_a_recovered_job_hands_in_only_what_its_name_says():
    assert assigned_by_name("results-time-elephant", "hosted").machine == "elephant"
    assert assigned_by_name("results-count-3", "hosted").machine == "hosted"
    assert assigned_by_name("results-bisect", "hosted").machine is None
    assert parse_assigned("") == {}
    with pytest.raises(UsageError, match="invalid --assigned"):
        parse_assigned("[1]")


def test_a_journal_that_does_not_continue_ours_is_refused(tmp_path, caplog):
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    kept = write_journal(ours, [1.0, 2.0])
    before = kept.read_text()
    for values, inputs in (([1.0, 3.0, 4.0], {}), ([1.0, 2.0, 3.0], {"good": "x"})):
        write_journal(theirs, values, **inputs)
        assert merge_results(theirs, ours) == 0
        assert kept.read_text() == before
    assert "two journals" in caplog.text or "does not continue" in caplog.text
    write_journal(theirs, [1.0, 2.0, 3.0])
    assert merge_results(theirs, ours) == 1


def tar_of(file: Path, name: str, content: bytes, **facts: object) -> Path:
    """An archive with one member."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(file, "w") as tar:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        for key, value in facts.items():
            setattr(member, key, value)
        tar.addfile(member, io.BytesIO(content))
    return file


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("bisect/deep-deep-12345678-1.json", DEEP.encode()),
        (f"bisect/{'x' * 300}.json", b"{}"),
        ("records/twins/../../x.json", b"{}"),
    ],
)
def test_one_bad_archive_does_not_stop_the_others(farmer, tmp_path, name, content):
    job, home = farmer("job"), farmer("home")
    job.measure(2)
    job.store.seal()
    packed(job, tmp_path, "results-count-2")
    tar_of(tmp_path / "incoming" / "results-count-1" / "results.tar", name, content)
    (tmp_path / "incoming" / "results-count-0").mkdir()
    (tmp_path / "incoming" / "results-count-0" / "results.tar").write_bytes(b"no tar")
    done = landspeed(home, "farm", "results", "unpack", str(tmp_path / "incoming"))
    assert done.returncode == 0, done.stderr
    assert "warning: " in done.stderr
    assert home.count == 2


def test_an_archive_that_a_person_names_is_an_error_once_the_others_are_merged(farmer, tmp_path):
    job, home = farmer("job"), farmer("home")
    job.measure(2)
    job.store.seal()
    good = packed(job, tmp_path, "results-count-2")
    bad = tmp_path / "bad.tar"
    bad.write_bytes(b"no tar")
    done = landspeed(home, "farm", "results", "unpack", str(bad), str(good))
    assert done.returncode == UsageError.exit_code
    assert str(bad) in done.stderr
    assert home.count == 2


def test_an_archive_that_would_fill_the_disk_is_refused(tmp_path):
    file = tmp_path / "bomb.tar"
    with tarfile.open(file, "w") as tar:
        member = tarfile.TarInfo("bisect/a-b-12345678-1.json")
        member.size = 1 << 40
        tar.fileobj.write(member.tobuf())  # type: ignore[union-attr]
    with pytest.raises(UsageError, match="damaged or not an archive"):
        unpack_files(file, tmp_path / "target", is_result)


def test_failures_count_only_where_the_note_is_one(tmp_path):
    store = RecordStore(tmp_path / "records")
    for time in ("1", "2"):
        store.failures.add({"origin": asdict(origin(3)), "variant": "bs8", "time": time})
    note("failures", {"variant": "bs8"})(tmp_path)
    assert Coverage.of(store, preset_named("quick")).broken == {(origin(3).commit, "bs8")}


def test_bad_notes_stop_no_command(tmp_path, farmer):
    home = farmer("home")
    one_of_each(home.paths.results)
    for bad in BAD.values():
        bad(home.paths.results)
    store = RecordStore(home.paths.records)
    store.bisections.add(bisection())
    readable(home.paths.results)
    assert len(damaged_files(home.paths.results)) == len(BAD) - 1  # two journals have one name
    done = landspeed(home, "farm", "results", "push")
    assert done.returncode == 0, done.stderr
    assert isinstance(done, subprocess.CompletedProcess)


KEY = "elephant " + "5e" * 32


def test_what_a_machine_with_a_key_seals_is_signed_and_only_that_is_taken_for_its_own(
    farmer, tmp_path, monkeypatch
):
    bench, forger, home = farmer("bench"), farmer("forger"), farmer("home")
    for number, one in enumerate((bench, forger)):
        monkeypatch.setenv(
            "LANDSPEED_MACHINE_KEYS", KEY if one is bench else "elephant " + "0" * 64
        )
        one.store.add(Record.from_json(record(Point(), number=number)))
        one.store.seal()
        packed(one, tmp_path, f"results-time-{number}")
    monkeypatch.setenv("LANDSPEED_MACHINE_KEYS", KEY)
    done = landspeed(home, "farm", "results", "unpack", str(tmp_path / "incoming"))
    assert "elephant did not sign it" in done.stderr
    assert home.store.table(["id"]).to_pylist() == bench.store.table(["id"]).to_pylist()
    assert unsigned_segments(home.store.root) == []
    monkeypatch.setenv("LANDSPEED_MACHINE_KEYS", "")
    (line,) = unsigned_segments(home.store.root)
    assert line == "Not signed by elephant: 1 of 1 segments of its results."
    monkeypatch.setenv("LANDSPEED_MACHINE_KEYS", "elephant x")
    with pytest.raises(UsageError, match="keys of machines"):
        unsigned_segments(home.store.root)
