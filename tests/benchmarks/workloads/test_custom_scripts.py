"""Scripts of a person's own: their names, their identity, and the files that are none."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from base.errors import UsageError
from benchmarks.applicability import counted_cells
from benchmarks.counted.cells import lengths_for, own_servers, together
from benchmarks.machine.machine import Machine
from benchmarks.workloads.custom_scripts import Script
from benchmarks.workloads.metrics import group_of
from benchmarks.workloads.protocol import Protocol
from benchmarks.workloads.scenario import CacheState, Mode, mode_named
from landspeed.cli.options.preset import chosen_preset
from landspeed.compare.side import parse_scenario
from landspeed.results.reproduce import point_commands

NOTHING: dict[str, Any] = dict.fromkeys(
    ("modes", "tiers", "protocols", "clients", "configurations", "samples", "seconds"), ()
)


def script_in(directory: Path, sql: str = "SELECT 1", load: str | None = None) -> Script:
    path, other = directory / "My orders_2.sql", directory / "setup.sql"
    path.write_text(sql)
    if load is not None:
        other.write_text(load)
    return Script.of_file(path, None if load is None else other)


def test_a_script_is_named_after_its_file_and_by_what_both_files_hold(tmp_path: Path) -> None:
    names = {
        script_in(tmp_path).value,
        script_in(tmp_path, "SELECT 2").value,
        script_in(tmp_path, load="CREATE TABLE t ()").value,
        script_in(tmp_path, load="CREATE TABLE u ()").value,
    }
    assert len(names) == 4
    assert all(name.startswith("my-orders-2-") for name in names)
    (tmp_path / "42.sql").write_text("SELECT 1")
    assert Script.of_file(tmp_path / "42.sql", None).name == "script-42"
    (tmp_path / f"{'a' * 99} {'b' * 99}.sql").write_text("SELECT 1")
    assert Script.of_file(tmp_path / f"{'a' * 99} {'b' * 99}.sql", None).name == "a" * 99


def test_a_script_called_like_a_workload_of_the_catalog_is_never_taken_for_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "sort-text.sql").write_text("SELECT 1")
    own = Script.of_file(tmp_path / "sort-text.sql", None).value
    assert group_of("sort-text") == "joins"
    assert group_of(own) == own


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "could not read"),
        (b" \n", "is empty"),
        (b"SELECT '\xff'", "is not UTF-8"),
        (b"SELECT 1;\0", "is not text"),
    ],
)
def test_what_is_no_script_is_refused_with_its_path(
    content: bytes | None, message: str, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / "mine.sql").write_bytes(content)
    with pytest.raises(UsageError, match=message) as caught:
        Script.of_file(tmp_path / "mine.sql", None)
    assert "mine.sql" in caught.value.message


def test_a_script_takes_the_place_of_a_mode(tmp_path: Path) -> None:
    own = script_in(tmp_path)
    path = tmp_path / "My orders_2.sql"
    assert parse_scenario(script=path).mode == own
    assert chosen_preset("quick", **NOTHING | {"script": path, "load": None}).modes == (own,)
    assert mode_named("read-only") is Mode.READ_ONLY
    assert str(mode_named("sort-text")) == "sort-text"
    for wrong, message in (({"mode": "read-only"}, "--mode"), ({"scenario": "read-only"}, "twice")):
        with pytest.raises(UsageError, match=message):
            parse_scenario(script=path, **wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="--load needs --script"):
        parse_scenario(load=path)


def test_a_script_is_counted_warm_and_in_one_session(tmp_path: Path) -> None:
    own = script_in(tmp_path, load="CREATE TABLE t ()")
    preset = chosen_preset("quick", **NOTHING | {"script": None, "load": None}, workloads=[own])
    cells = [one.cell for one in counted_cells(preset, Machine.detect(), tmp_path, {})]
    assert [cell.buffers for cell in cells] == [CacheState.WARM]
    assert not own_servers(cells[0])
    assert together(cells[0], cells[0])
    work = own.workload(Protocol.SIMPLE, (1, 3))
    assert work.script.rstrip().endswith(";")
    assert (work.protocol, work.lengths) == (Protocol.SIMPLE, (1, 3))


def test_the_dearer_a_script_the_fewer_executions_and_its_cost_is_asked_once() -> None:
    asked = []

    def cost(instructions: float) -> float:
        asked.append(instructions)
        return instructions

    each = [1e4, 1e6, 5e6, 1e9]
    found = [lengths_for(("test", number), lambda n=number: cost(n)) for number in each]
    assert found == sorted(found, reverse=True)
    assert lengths_for(("test", 1e9), lambda: cost(1.0)) == found[-1]
    assert asked == each


@pytest.mark.parametrize(
    ("mode", "preset", "words"),
    [
        ("mine-0a1b2c3d", "quick", "run 18.6:bs8 --preset quick --script mine.sql"),
        ("sort-text", "quick", "run 18.6:bs8 --preset quick --mode sort-text"),
        ("mine-0a1b2c3d", "custom-quick", "study custom 18.6:bs8 --preset quick --mode mine"),
    ],
)
def test_a_script_is_measured_again_by_its_file(mode: str, preset: str, words: str) -> None:
    origin = SimpleNamespace(name="18.6", registered=None, commit=None, release="18.6")
    run: Any = SimpleNamespace(
        origin=origin,
        target="18.6:bs8",
        mode=mode,
        preset=preset,
        protocol="prepared",
        profile="default",
        tier="small",
        scale=5,
        buffers="warm",
    )
    assert words in point_commands([run])[-1]
