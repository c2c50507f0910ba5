"""The cache of scalars: never anything else than what the Segments hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.records import cache as module
from benchmarks.records.record import Record
from benchmarks.records.store import RecordStore, new_id
from tests.kits.made_up.synthetic import Point, record
from tests.kits.made_up.synthetic import records as synthetic_records


@pytest.mark.parametrize("limit", ["_WORTHWHILE_SEGMENTS", "_WORTHWHILE_ROWS"])
def test_the_cache_gives_what_the_segments_hold(
    tmp_path: Path, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, limit, 1)
    store = RecordStore(tmp_path / "records")
    made = list(synthetic_records(runs=2))
    cache = store.root / ".cache" / "scalars.arrow"
    for half in (made[20:], made[:20]):
        for one in half:
            store.add(Record.from_json(one))
        store.seal()
        store.table()
    assert cache.exists()
    with_cache = store.table().to_pylist()
    assert [row["id"] for row in with_cache] == [one["id"] for one in made]
    # one Segment more is not worth writing the cache anew
    monkeypatch.setattr(module, limit, 1000)
    kept = cache.read_bytes()
    more = next(synthetic_records(runs=1))
    more = {**more, "id": new_id()}
    store.add(Record.from_json(more))
    store.seal()
    with_cache = RecordStore(store.root).table().to_pylist()
    assert [row["id"] for row in with_cache] == [*(one["id"] for one in made), more["id"]]
    assert cache.read_bytes() == kept
    cache.unlink()
    assert RecordStore(store.root).table().to_pylist() == with_cache
    cache.write_bytes(kept[:-50])
    assert RecordStore(store.root).table().to_pylist() == with_cache
    next(store.root.glob("segments/*/*/*.parquet")).unlink()
    for one in (store, RecordStore(store.root)):
        assert one.table().num_rows < len(with_cache)


def test_a_damaged_segment_is_not_in_the_cache_and_read_when_it_is_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_WORTHWHILE_SEGMENTS", 1)
    store = RecordStore(tmp_path / "records")
    for number in range(2):
        store.add(Record.from_json(record(Point(), number=number)))
        store.seal()
    damaged, _ = store.root.glob("segments/*/*/*.parquet")
    content = damaged.read_bytes()
    damaged.write_bytes(content[:-50])
    for _ in range(2):
        assert RecordStore(store.root).table().num_rows == 1
    damaged.write_bytes(content)
    assert RecordStore(store.root).table().num_rows == 2
