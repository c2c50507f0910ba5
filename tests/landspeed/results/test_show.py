"""From a dot back to its runs."""

from __future__ import annotations

import json
import re
import subprocess
from datetime import timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from rich.table import Table

from base.errors import RefError, UsageError, VariantError
from benchmarks.records.record import Record
from benchmarks.records.store import RecordStore
from benchmarks.workloads.catalog import choose
from landspeed.console.progress import say
from landspeed.console.table import as_text
from landspeed.results.point_query import parse_point
from landspeed.results.show import Estimate, PointRuns, details, find_points, overview
from tests.kits.made_up.synthetic import START, Point, counted_record, record
from tests.kits.made_up.synthetic import records as synthetic_records
from tests.kits.made_up.workload_counts import counts
from tests.kits.verbs import called

SYNTHETIC_HASH = "abcdef0123"


def release_at(commit: str) -> str | None:
    return "17.6" if commit == SYNTHETIC_HASH else None


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> RecordStore:
    store = RecordStore(tmp_path_factory.mktemp("records"))
    for one in synthetic_records():
        store.add(Record.from_json(one))
    for one in synthetic_records(releases=["18.1"], blocksize=4):
        store.add(Record.from_json(one))
    store.add(
        Record.from_json(record(Point(release="18.1", build="clang-O3-lto", mode="tpcb-like")))
    )
    store.add(Record.from_json(record(Point(release=None, commit="c0ffee" + "0" * 34, clients=4))))
    store.seal()
    return store


def found(store: RecordStore, text: str) -> list[PointRuns]:
    return find_points(store.table(), parse_point(text, release_at))


def names(store: RecordStore, text: str) -> list[str]:
    return [point.name for point in found(store, text)]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("18.1:bs8/read-only/prepared/small-5/c4/default", 1),
        ("18.1:bs8/read-only/prepared/small/4", 1),
        ("18.1:bs8/read-only/*/5/*", 2),
        ("18.1:bs4", 4),
        ("18.1:bs8-clang-O3-lto", 1),
        ("18.1:O3-lto-clang/tpcb-like", 1),
        ("18.1:bs8-clang", 0),
        ("18.1", 9),
        ("18", 9),
        ("REL_18_1", 9),
        ("*", 26),
        ("*/read-write", 12),
        ("c0ffee0", 1),
    ],
)
def test_a_point_in_words_means_the_cells_it_names(
    store: RecordStore, text: str, count: int
) -> None:
    if count:
        assert len(found(store, text)) == count
    else:
        with pytest.raises(RefError):
            found(store, text)


def test_the_build_of_a_sites_address_is_the_rest_of_a_variants_name(store: RecordStore) -> None:
    address = "#tpcb_like.track_tps?blocksize=8&build=clang-O3-lto&wal_blocksize=8"
    name = "18.1:bs8-clang-O3-lto/tpcb-like/prepared/small-5/c1/default"
    assert names(store, address) == [name]
    with pytest.raises(RefError):
        found(store, address.replace("clang-O3-lto", "default"))


@pytest.mark.parametrize(
    "text",
    [
        "http://127.0.0.1:8080/index.html#read_only.track_latency?p-clients=4&commits=17.6",
        f"#read_only.track_latency?p-clients=4&p-protocol=%27prepared%27&commits={SYNTHETIC_HASH}",
        f"read_only.track_tps?blocksize=8&p-scale='small-5'&p-clients=4&x-axis=clients&commits={SYNTHETIC_HASH}",
    ],
)
def test_an_address_of_the_site_is_a_point(store: RecordStore, text: str) -> None:
    assert names(store, text) == ["17.6:bs8/read-only/prepared/small-5/c4/default"]


def test_both_ends_of_a_flagged_change_are_found(store: RecordStore) -> None:
    points = names(
        store, f"#read_only.track_latency?p-clients=1&blocksize=8&commits=18.1-{SYNTHETIC_HASH}"
    )
    assert sorted(name.split(":")[0] for name in points) == ["17.6", "18.1"]


def test_the_name_of_a_point_finds_it_again(store: RecordStore) -> None:
    for point in found(store, "*"):
        assert names(store, point.name) == [point.name]


def test_a_run_is_found_by_the_start_of_its_id(store: RecordStore) -> None:
    (point,) = found(store, "18.1:bs4/read-only/prepared/small/c4")
    run = point.runs[1].id
    (again,) = found(store, f"run:{run[:20]}")
    assert [one.id for one in again.runs] == [run]


def test_no_such_point_says_what_is_measured(store: RecordStore) -> None:
    with pytest.raises(RefError) as caught:
        found(store, "9.6")
    assert "17.6" in caught.value.detail


@pytest.mark.parametrize(
    "text", ["18/a/b/c/d/e/f", "18/read-only/prepared/small/many", "#/regressions"]
)
def test_what_is_not_a_point_is_refused(store: RecordStore, text: str) -> None:
    with pytest.raises(UsageError):
        found(store, text)


def test_a_variant_that_postgresql_does_not_have_is_refused(store: RecordStore) -> None:
    with pytest.raises(VariantError):
        found(store, "18:bs3")


def test_the_overview_has_a_line_per_point(store: RecordStore) -> None:
    lines = as_text(overview(found(store, "18.1:bs8"))).splitlines()
    assert len(lines) == 5
    assert lines[1].startswith("18.1:bs8/read-only/prepared/small-5/c1/default")


def test_details_show_every_run_and_where_it_came_from(store: RecordStore) -> None:
    (point,) = found(store, "18.1:bs8/read-only/prepared/small/c4")
    text = as_text(details(point, [store.get(point.runs[0].id)]))
    for run in point.runs:
        assert f"run:{run.id[:16]}" in text
        assert run.time in text
    for fact in ("shared_buffers = 16384", "gcc", "glibc 2.36", point.runs[0].digest):
        assert fact in text


def test_a_record_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    damaged = RecordStore(tmp_path / "results" / "records")
    for number in range(2):
        damaged.add(Record.from_json(record(Point(), number=number)))
    damaged.seal()
    (segment,) = damaged.root.rglob("*.parquet")
    (tmp_path / "asv.conf.json").write_text("{}")

    def show(*words: str) -> subprocess.CompletedProcess[str]:
        return called(["show", "18.1:bs8/read-only", *words], {"COLUMNS": "200"}, tmp_path)

    for left in (1, 0):
        table = pq.read_table(segment)
        texts = [*table["record"].to_pylist()[:left], *["{"] * (2 - left)]
        at = table.schema.get_field_index("record")
        pq.write_table(table.set_column(at, "record", [texts]), segment)
        (point,) = json.loads(show("--json").stdout)
        assert (len(point["runs"]), len(point["records"])) == (2, left)
        assert ("sha256" in show().stdout) == bool(left)
    assert "error:  no record of" in show().stderr


def test_runs_of_another_epoch_are_a_point_of_their_own(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    store.add(Record.from_json(record(Point(epoch="old"), at=START)))
    store.add(Record.from_json(record(Point(epoch="new"), at=START.replace(hour=1))))
    old, new = found(store, "18.1")
    assert (old.published, new.published) == (False, True)
    assert "old (superseded)" in as_text(overview([old, new]))


def test_the_facts_of_a_point_are_json(store: RecordStore) -> None:
    (point,) = found(store, "18.1:bs8/read-only/prepared/small/c4")
    facts = json.loads(json.dumps(point.facts()))
    assert facts["point"] == point.name
    assert len(facts["runs"]) == 3
    assert facts["estimates"]["latency"]["low"] < facts["estimates"]["latency"]["high"]


def test_an_estimate_of_nothing_is_none() -> None:
    assert Estimate.of([]) is None


def test_a_single_run_has_a_median_and_no_interval():
    one = Estimate.of([0.25])
    assert one is not None
    assert (one.median, one.low, one.high) == (0.25, None, None)
    assert str(one) == "0.25"


def test_an_interval_of_few_noisy_runs_does_not_begin_below_zero() -> None:
    noisy = Estimate.of([0.03, 0.054672, 0.0846])
    assert noisy is not None
    assert noisy.low is not None
    assert noisy.high is not None
    assert 0 < noisy.low < noisy.median < noisy.high


def test_runs_of_comparisons_are_shown_beside_the_point_and_are_never_the_published_ones(
    tmp_path: Path,
) -> None:
    store = RecordStore(tmp_path)
    for number in range(4):
        one = record(Point(), number=number, at=START + timedelta(seconds=number))
        if number >= 2:
            one["run"] |= {"preset": "compare", "comparison": "abc", "block": 1, "side": number - 2}
        store.add(Record.from_json(one))
    points = found(store, "18.1")
    assert [(len(p.runs), p.published, p.runs[0].is_adaptive) for p in points] == [
        (2, True, False),
        (2, False, True),
    ]
    assert "(comparisons)" in as_text(overview(points))


def test_a_run_by_sysbench_is_a_point_of_its_own_that_says_who_asked_and_repeats_as_a_study(
    tmp_path: Path,
) -> None:
    store = RecordStore(tmp_path)
    for number in range(2):
        one = record(Point(mode="oltp-read-only-92b46dbe"), number=number)
        one["run"] |= {"preset": "sysbench-quick"}
        one["cell"] |= {"profile": "default-with-jit=off-on-tmpfs"}
        store.add(
            Record.from_json(
                one | {"sysbench": {"version": "1.0.20", "script": "oltp_read_only", "rows": 9}}
            )
        )
    (point,) = found(store, "18.1/oltp-read-only-92b46dbe")
    shown = as_text(details(point, [store.get(run.id) for run in point.runs]))
    assert re.search(r"^client +sysbench 1\.0\.20 \(9 rows\)$", shown, re.M)
    words = (
        "study sysbench 18.1:bs8 --preset quick --mode oltp-read-only --protocol prepared "
        "--configuration default-with-jit=off --storage tmpfs --tier small --scale small=5 "
        "--clients 1 --samples 2 --seconds 3"
    )
    assert point.facts()["repeat"][-1] == f".venv/bin/landspeed {words}"


def test_counted_runs_are_points_of_their_own(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    timed = record(Point(clients=1))
    store.add(Record.from_json(timed))
    for buffers in ("warm", "cold"):
        cell = {**timed["cell"], "buffers": buffers}
        store.add(
            Record.from_json(counted_record(timed["build"], cell, timed["machine"], timed["epoch"]))
        )
    name = "18.1:bs8/read-only/prepared/small-5/c1/default"
    assert set(names(store, "18.1/read-only")) == {name, f"{name}/warm", f"{name}/cold"}
    assert names(store, name) == [name]
    assert names(store, f"{name}/warm") == [f"{name}/warm"]
    assert names(store, "18.1/*/*/*/*/*/cold") == [f"{name}/cold"]
    address = "#read_only.track_instructions_cold?p-clients=1&blocksize=8"
    assert names(store, address) == [f"{name}/cold"]
    assert names(store, "#read_only.track_latency?p-clients=1") == [name]
    (cold,) = found(store, f"{name}/cold")
    shown = as_text(details(cold, [store.get(cold.runs[0].id)]))
    assert "instructions/tx" in shown
    assert "latency" not in shown
    assert set(cold.facts()["estimates"]) == {"instructions_cold"}


def test_words_of_others_are_shown_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    subject = "Fix :bug: in [bold]arrays[/nothing] of 18:bs4:"
    table = Table(box=None, show_header=False, padding=0)
    table.add_row(subject)
    assert as_text(table) == subject
    say(subject)
    assert capsys.readouterr().err == f"{subject}\n"


def test_the_address_of_a_familys_graph_names_the_workload(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    for one in counts(choose(["sort-*"]), {"18.1": "2025-11-13"}, lambda *_: 1000.0):
        store.add(Record.from_json(one))
    address = "joins.track_instructions?p-workload='sort-unique'&p-scale='small-1'&p-clients=1"
    assert names(store, address) == ["18.1:bs8/sort-unique/prepared/small-1/c1/default/warm"]
