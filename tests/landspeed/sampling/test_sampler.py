"""A Sampler with a made-up Run: the record is kept before its number is used."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from base.errors import MeasureError
from benchmarks.machine.lock import measuring
from benchmarks.machine.machine import Machine
from benchmarks.records.record import Record
from benchmarks.records.store import RecordStore
from benchmarks.workloads.metrics import METRICS
from benchmarks.workloads.scenario import Cell, Mode, Protocol, Scenario, Tier
from landspeed.sampling import sampler as module
from landspeed.sampling.sampler import Sampler, give_back_storages
from tests.kits.made_up import synthetic

CELL = Cell(
    scenario=Scenario(mode=Mode.READ_ONLY, protocol=Protocol.PREPARED, tier=Tier.SMALL, scale=5),
    clients=1,
    profile="default",
)


@dataclass
class _Workshop:
    records: RecordStore
    machine: Machine
    paths: None = None


class _Build:
    label = "18.1 bs8"


def sampler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, latency: float | None) -> Sampler:
    def measure(*, context: dict[str, Any], seed: int, **_: Any) -> Record:
        record = synthetic.record(synthetic.Point())
        record["run"] |= {**context, "seed": seed}
        record["sample"]["latency_ms"] = latency
        return Record.from_json(record)

    monkeypatch.setattr(module, "measure", measure)
    session: Any = _Workshop(records=RecordStore(tmp_path), machine=Machine.detect("elephant"))
    pgbench: Any = None
    return Sampler(session=session, pgbench=pgbench, cell=CELL, metric=METRICS[0], seconds=1)


def test_a_sample_is_the_metrics_value_and_its_record_is_kept_with_the_context(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build: Any = _Build()
    one = sampler(tmp_path, monkeypatch, 0.25)
    assert one.sample(build, context={"preset": "compare", "block": 3}, seed=7) == 0.25
    (row,) = RecordStore(tmp_path).table().to_pylist()
    (record,) = RecordStore(tmp_path).records([row["id"]])
    assert (record.run.preset, record.run.block, record.run.seed) == (
        "compare",
        3,
        7,
    )


@pytest.mark.parametrize("latency", [None, 0.0])
def test_a_run_without_the_number_is_an_error_that_names_its_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, latency: float | None
) -> None:
    build: Any = _Build()
    with pytest.raises(MeasureError, match=r"a run of 18.1 bs8 has no value of latency") as caught:
        sampler(tmp_path, monkeypatch, latency).sample(build, context={}, seed=7)
    (identifier,) = RecordStore(tmp_path).table(["id"])["id"].to_pylist()
    assert identifier in caught.value.detail


def test_storage_is_left_to_another_landspeed_that_takes_times_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANDSPEED_MEASURE_LOCK", str(tmp_path / "lock"))
    given: list[set[str]] = []
    monkeypatch.setattr(module, "give_back", lambda names, _: given.append(names))
    session: Any = SimpleNamespace(paths=SimpleNamespace(server_root=tmp_path))
    for counting, expected in ((False, []), (True, [{"tmpfs"}])):
        with ExitStack() as other:
            other.enter_context(measuring(counting=counting))
            give_back_storages(session, ["default", "default-on-tmpfs"])
        assert given == expected
    give_back_storages(session, ["default"])
    assert given == [{"tmpfs"}], "the disk needs nobody to wait for"
