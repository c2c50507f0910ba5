"""Raw records: only ever added, never lost, never half taken for whole."""

from __future__ import annotations

import os
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from base.errors import RecordError, StorageError, UsageError
from benchmarks.records.columns import COLUMNS, SCALARS, TEXT, VARIANT_COLUMNS, variant_of
from benchmarks.records.record import Record
from benchmarks.records.segments import check_segment, read_scalars
from benchmarks.records.signatures import unsigned_segments
from benchmarks.records.store import RecordStore, new_id
from landspeed.farm.merge import merge_results
from tests.kits.builds.buildkit import forked
from tests.kits.made_up.synthetic import Point, record
from tests.kits.made_up.synthetic import records as synthetic_records


@pytest.fixture
def store(tmp_path: Path) -> RecordStore:
    return RecordStore(tmp_path / "records")


def ids(store: RecordStore) -> list[str]:
    return list(store.table(["id"])["id"].to_pylist())


def test_ids_are_unique_and_sort_by_time() -> None:
    first = new_id()
    time.sleep(0.002)
    rest = [new_id() for _ in range(1000)]
    assert len({first, *rest}) == 1001
    assert all(first < other for other in rest)
    early, late = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
    assert max(new_id(early), new_id(early)) < new_id(late)


def test_a_record_is_the_same_before_and_after_sealing(store: RecordStore) -> None:
    made = list(synthetic_records(runs=2))
    for one in made:
        store.add(Record.from_json(one))
    loose = store.table()
    sealed = store.seal()
    assert sealed.records == len(made)
    assert len(sealed.segments) == 1
    assert not list((store.root / "loose").glob("*.json"))
    assert store.table().equals(loose)
    assert [store.get(one["id"]).to_json() for one in made] == made
    assert [one.to_json() for one in store.records([one["id"] for one in made])] == made


def test_the_table_has_every_scalar_of_a_record(store: RecordStore) -> None:
    one = record(Point(release=None, commit="c" * 40, clients=4))
    store.add(Record.from_json(one))
    (row,) = store.table().to_pylist()
    assert row["commit"] == "c" * 40
    assert row["release"] is None
    assert row["clients"] == 4
    assert row["latency_ms"] == one["sample"]["latency_ms"]
    assert row["origin_date"] == one["build"]["origin"]["date"]
    asked = ("comparison", "block", "side")
    counted = ("instrument", "buffers", "instructions", "instructions_spread")
    variant = ("segsize", "compiler", "flags")
    absent = ("release", "registered", *variant, *asked, *counted, "wal_bytes_tx", "blocks_tx")
    assert None not in {value for name, value in row.items() if name not in absent}


def test_numbers_an_old_server_cannot_say_are_null(store: RecordStore) -> None:
    one = record(Point())
    one["sample"]["wal_bytes"] = None
    del one["sample"]["blocks_read"]
    store.add(Record.from_json(one))
    store.seal()
    (row,) = store.table(["wal_bytes", "blocks_read"]).to_pylist()
    assert row == {"wal_bytes": None, "blocks_read": None}


def test_each_machine_and_month_has_segments_of_its_own(store: RecordStore) -> None:
    late = record(Point(machine="mammoth"))
    late["time"] = "2026-02-03T04:05:06.789Z"
    store.add(Record.from_json(record(Point())))
    store.add(Record.from_json(late))
    directories = {path.parent for path in store.seal().segments}
    segments = store.root / "segments"
    assert directories == {segments / "elephant/2026-01", segments / "mammoth/2026-02"}


def test_equal_records_make_an_equal_segment(tmp_path: Path) -> None:
    names = []
    for root in (tmp_path / "a", tmp_path / "b"):
        store = RecordStore(root)
        for one in synthetic_records(runs=1):
            store.add(Record.from_json(one))
        names += [path.name for path in store.seal().segments]
    assert names[0] == names[1]


def test_a_seal_that_died_before_removing_loose_files_leaves_no_duplicates(
    store: RecordStore,
) -> None:
    made = list(synthetic_records(runs=1))
    for one in made:
        store.add(Record.from_json(one))
    store.seal()
    for one in made[:3]:
        store.add(Record.from_json(one))
    assert ids(store) == [one["id"] for one in made]
    again = store.seal()
    assert again.records == 0
    assert not list((store.root / "loose").glob("*.json"))
    assert ids(store) == [one["id"] for one in made]


def test_a_record_in_two_segments_is_read_once(tmp_path: Path) -> None:
    made = list(synthetic_records(runs=1))
    left, right = (RecordStore(tmp_path / name / "records") for name in "ab")
    for one in made[:4]:
        left.add(Record.from_json(one))
    for one in made[2:]:
        right.add(Record.from_json(one))
    left.seal()
    right.seal()
    assert merge_results(tmp_path / "b", tmp_path / "a") == 1
    assert merge_results(tmp_path / "b", tmp_path / "a") == 0
    assert ids(left) == [one["id"] for one in made]


def test_a_truncated_loose_file_is_set_aside_and_the_others_are_read(
    store: RecordStore, caplog: pytest.LogCaptureFixture
) -> None:
    path = store.add(Record.from_json(record(Point())))
    other = store.add(Record.from_json(record(Point(), number=1)))
    path.write_text(path.read_text()[:-100])
    assert ids(store) == [other.stem]
    assert store.seal().records == 1
    assert path.exists()
    assert caplog.text.count(path.name) == 1


@pytest.mark.parametrize("keep", [0, 3, 1000, -1])
def test_a_truncated_segment_is_set_aside_and_the_others_are_read(
    store: RecordStore, keep: int, caplog: pytest.LogCaptureFixture
) -> None:
    store.add(Record.from_json(record(Point())))
    (path,) = store.seal().segments
    other = store.add(Record.from_json(record(Point(), number=1)))
    store.seal()
    path.write_bytes(path.read_bytes()[:keep])
    assert ids(store) == [other.stem]
    assert len(caplog.records) == 1
    assert str(path) in caplog.text
    with pytest.raises(RecordError, match=path.name):
        check_segment(path)


def test_a_flipped_bit_in_a_segment_is_found(store: RecordStore) -> None:
    one = record(Point())
    store.add(Record.from_json(one))
    (path,) = store.seal().segments
    group = pq.ParquetFile(path).metadata.row_group(0)
    text = next(c for i in range(99) if (c := group.column(i)).path_in_schema == TEXT)
    data = bytearray(path.read_bytes())
    data[text.data_page_offset + text.total_compressed_size // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(RecordError, match=path.name):
        check_segment(path)
    with pytest.raises(RecordError, match="no record"):
        store.get(one["id"])
    assert list(store.records([one["id"]])) == []


def test_what_a_record_does_not_say_of_its_variant_is_the_defaults(store: RecordStore) -> None:
    """Also in a segment of an older landspeed, which had no columns for it."""
    old, new = record(Point(blocksize=4)), record(Point(build="seg2-clang-O3-lto"), number=1)
    store.add(Record.from_json(old))
    (path,) = store.seal().segments
    lacking = pq.read_table(path).drop_columns(["segsize", "compiler", "flags"])
    pq.write_table(lacking, path)
    store.add(Record.from_json(new))
    rows = store.table(["id", *VARIANT_COLUMNS]).to_pylist()
    assert {row["id"]: variant_of(row).name for row in rows} == {
        old["id"]: "bs4",
        new["id"]: "bs8-seg2-clang-O3-lto",
    }


def test_segments_of_an_older_landspeed_lack_columns_and_still_read(store: RecordStore) -> None:
    store.add(Record.from_json(record(Point())))
    (path,) = store.seal().segments
    table = pq.read_table(path).drop_columns(["wal_bytes", "buffers"])
    pq.write_table(table.append_column("of_later", pa.array(["?"])), path)
    read = read_scalars([path], [column.name for column in COLUMNS])
    assert read.schema.names == SCALARS.names
    assert read["wal_bytes"].to_pylist() == [None]
    assert read["latency_ms"].null_count == 0


def test_a_segment_can_be_read_by_any_parquet_reader(store: RecordStore) -> None:
    one = record(Point())
    text = store.add(Record.from_json(one)).read_text()
    (path,) = store.seal().segments
    table = pq.read_table(path)
    assert table[TEXT].to_pylist() == [text]
    assert table["release"].to_pylist() == ["18.1"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("schema", 2),
        ("id", "../../etc/passwd"),
        ("time", "yesterday"),
        ("machine", {"name": "../up"}),
        ("machine", {}),
        ("cell", {"clients": "four"}),
    ],
)
def test_what_is_not_a_record_is_refused(store: RecordStore, key: str, value: object) -> None:
    with pytest.raises(RecordError, match=f'key "{key}.*" of a raw record'):
        store.add(Record.from_json({**record(Point()), key: value}))
    assert ids(store) == []


def test_an_id_is_never_given_to_another_record(store: RecordStore) -> None:
    one = record(Point())
    store.add(Record.from_json(one))
    store.add(Record.from_json(one))
    with pytest.raises(RecordError, match="two different records"):
        store.add(Record.from_json({**one, "stderr": "changed"}))


def test_a_prefix_names_one_record_or_is_refused(store: RecordStore) -> None:
    first, second = (record(Point(), number=number) for number in (1, 2))
    store.add(Record.from_json(first))
    store.seal()
    store.add(Record.from_json(second))
    assert store.get(first["id"][:20]).to_json() == first
    with pytest.raises(RecordError, match="ambiguous"):
        store.get(first["id"][:4])
    with pytest.raises(RecordError, match="no record"):
        store.get("zz")
    with pytest.raises(RecordError, match="not a record id"):
        store.get("*")
    assert list(store.records(["zz"])) == []


def test_of_loose_records_the_one_that_is_asked_for_is_read_alone(
    store: RecordStore, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = (record(Point(), number=number) for number in (1, 2))
    store.add(Record.from_json(first)).write_text("damaged")
    store.add(Record.from_json(second))
    assert store.get(second["id"]).to_json() == second
    assert caplog.text == ""


def test_an_empty_store_has_an_empty_table(store: RecordStore) -> None:
    assert store.table().num_rows == 0
    assert store.seal().records == 0
    assert list(store.records([])) == []


def test_left_overs_of_killed_writers_are_removed_in_time(store: RecordStore) -> None:
    store.add(Record.from_json(record(Point())))
    store.seal()
    old, young = store.root / "loose" / ".a.json.x", store.root / "loose" / ".b.json.y"
    for path in (old, young):
        path.write_text("{")
    os.utime(old, (0, 0))
    store.seal()
    assert (old.exists(), young.exists()) == (False, True)
    assert len(ids(store)) == 1


def test_a_full_disk_loses_nothing(store: RecordStore, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store.add(Record.from_json(record(Point())))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StorageError, match="could not write"):
        store.seal()
    assert path.exists()
    assert not list((store.root / "segments").rglob("*.*"))
    assert len(ids(store)) == 1


def test_a_seal_that_could_not_sign_is_repeated_and_signs(
    store: RecordStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add(Record.from_json(record(Point())))
    monkeypatch.setenv("LANDSPEED_MACHINE_KEYS", "elephant x")
    with pytest.raises(UsageError, match="keys of machines"):
        store.seal()
    monkeypatch.setenv("LANDSPEED_MACHINE_KEYS", "elephant " + "5e" * 32)
    assert store.seal().records == 1
    assert unsigned_segments(store.root) == []


def _add_and_seal(arguments: tuple[Path, int]) -> None:
    root, worker = arguments
    for number in range(10):
        made = record(Point(clients=worker + 1), number=number)
        RecordStore(root).add(Record.from_json(made))
        RecordStore(root).seal()
        assert RecordStore(root).table().num_rows > number


@pytest.mark.slow
def test_several_landspeeds_may_add_seal_and_read_at_once(store: RecordStore) -> None:
    with ProcessPoolExecutor(3) as pool:
        list(pool.map(_add_and_seal, [(store.root, worker) for worker in range(3)]))
    assert store.table(["id"]).num_rows == 30
    assert len(set(ids(store))) == 30


def _add_and_seal_forever(store: RecordStore, added: int) -> None:
    for number in range(10**6):
        store.add(Record.from_json(record(Point(), number=number)))
        os.write(added, b".")
        store.seal()


@pytest.mark.parametrize("after", [3, 4, 5])
def test_a_kill_while_sealing_loses_no_record(store: RecordStore, after: int) -> None:
    ours, theirs = os.pipe()
    with forked(lambda: _add_and_seal_forever(store, theirs)):
        os.close(theirs)
        added = 0
        while added < after:
            told = os.read(ours, 1)
            assert told, "it ended before it was killed"
            added += len(told)
        time.sleep(0.002 * after)
    with os.fdopen(ours, "rb") as rest:
        added += len(rest.read())
    assert len(ids(store)) >= added
    store.seal()
    assert store.table(["id"]).num_rows >= added


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=12))
@pytest.mark.slow
def test_whatever_the_order_of_adds_and_seals_every_record_is_there_once(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, bool]]
) -> None:
    store = RecordStore(tmp_path_factory.mktemp("records"))
    for number, seal in steps:
        store.add(Record.from_json(record(Point(), number=number)))
        if seal:
            store.seal()
    assert sorted(ids(store)) == sorted(
        {record(Point(), number=number)["id"] for number, _ in steps}
    )
