"""Loading datasets, where that fails."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from base.errors import MeasureError, StorageError
from benchmarks.data import datasets
from benchmarks.data.datasets import DatasetLoader


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ('could not extend file "base/1": No space left on device', StorageError),
        ("server closed the connection unexpectedly", MeasureError),
    ],
)
def test_a_full_disk_is_no_fault_of_the_server(monkeypatch, said, expected):
    def connected(*_: object, **__: object) -> None:
        raise psycopg.OperationalError(said)

    monkeypatch.setattr(datasets, "connect", connected)
    with pytest.raises(expected) as raised:
        DatasetLoader().initialise(Path("/nowhere"), scale=1)
    assert said in raised.value.detail
