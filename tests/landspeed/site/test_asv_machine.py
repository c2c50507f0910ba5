"""What asv is told about this machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from asv.machine import Machine as AsvMachine

from base.errors import StorageError
from benchmarks.machine.machine import Machine
from landspeed.results.points import asv_fields
from landspeed.site.asv_machine import register


@pytest.fixture
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file asv keeps machines in, in a home of the test's own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LANDSPEED_MACHINE", "bench-1")
    return tmp_path / ".asv-machine.json"


def fields() -> dict[str, str]:
    machine = Machine.detect()
    return asv_fields(machine.name, vars(machine))


def test_all_six_fields_are_stored_and_asv_reads_them_back(known):
    assert register() == f'registered this machine with asv as "bench-1" in {known}'
    machine = AsvMachine.load(machine_name="bench-1")
    stored = {name: getattr(machine, name) for name, _ in AsvMachine.fields}
    assert stored == fields()
    assert all(stored.values())


def test_a_machine_that_is_known_is_left_as_it_is(known):
    register()
    entry = json.loads(known.read_text())
    entry["bench-1"]["cpu"] = "as a person wrote it"
    known.write_text(json.dumps(entry))
    assert register() == 'asv knows this machine as "bench-1"'
    assert json.loads(known.read_text()) == entry


def test_an_entry_that_asv_made_of_the_name_alone_is_completed(known):
    known.write_text(json.dumps({"version": 1, "bench-1": {"machine": "bench-1"}}))
    register()
    assert json.loads(known.read_text())["bench-1"] == fields()


def test_other_machines_in_the_file_stay(known):
    other = {name: "x" for name, _ in AsvMachine.fields} | {"machine": "other"}
    known.write_text(json.dumps({"version": 1, "other": other}))
    register()
    assert json.loads(known.read_text())["other"] == other


def test_a_file_that_is_not_json_ends_in_one_clear_error_and_stays(known):
    known.write_text("{")
    with pytest.raises(StorageError, match="could not register this machine with asv") as caught:
        register()
    assert str(known) in caught.value.detail
    assert known.read_text() == "{"
