"""Tiers, ladders and presets, and what cannot run on a machine."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.errors import UsageError
from benchmarks.machine.machine import Limits
from benchmarks.server.configuration import shared_buffers_span
from benchmarks.workloads.scenario import (
    BYTES_PER_SCALE,
    CLIENT_COUNTS,
    PRESETS,
    Cell,
    Mode,
    Planned,
    Preset,
    Protocol,
    Scenario,
    Tier,
    parse_scales,
    plan_cells,
    preset_named,
    tier_scales,
)

GIB = 1 << 30
AMPLE = Limits(memory_bytes=64 * GIB, disk_bytes=4000 * GIB)
SCALES = {Tier.SMALL: 5, Tier.MEDIUM: 2000, Tier.LARGE: 9000}


def scales(memory: int, overrides: dict[Tier, int] | None = None) -> dict[Tier, int]:
    smallest, largest = shared_buffers_span(memory)
    return tier_scales(
        memory_bytes=memory,
        smallest_shared_buffers=smallest,
        largest_shared_buffers=largest,
        overrides=overrides,
    )


def plan(limits: Limits, preset: Preset = PRESETS["archaeology"]) -> list[Planned]:
    return plan_cells(
        preset,
        limits,
        SCALES,
        shared_buffers={"default": 128 << 20, "tuned": 16 * GIB},
        max_connections=300,
    )


@given(st.integers(min_value=GIB, max_value=4096 * GIB))
def test_tiers_are_what_they_say_on_every_machine(memory: int) -> None:
    smallest, largest = shared_buffers_span(memory)
    size = {tier: scale * BYTES_PER_SCALE for tier, scale in scales(memory).items()}
    assert size[Tier.SMALL] < smallest
    assert size[Tier.MEDIUM] > largest
    assert size[Tier.LARGE] > 1.2 * memory
    assert size[Tier.SMALL] < size[Tier.MEDIUM] < size[Tier.LARGE]


@given(st.integers(min_value=4 * GIB, max_value=4096 * GIB))
def test_medium_fits_memory(memory: int) -> None:
    assert scales(memory)[Tier.MEDIUM] * BYTES_PER_SCALE < 0.7 * memory


def test_a_few_megabytes_taken_by_a_kernel_rename_no_cell() -> None:
    assert scales(25_276_510_208) == scales(25_276_510_208 - (60 << 20))


def test_small_is_scale_5_with_128_mb() -> None:
    assert scales(16 * GIB)[Tier.SMALL] == 5


def test_the_classic_scales_can_be_set() -> None:
    classic = parse_scales(["small=100", "medium=1000", "large=10000"])
    assert scales(16 * GIB, classic) == {Tier.SMALL: 100, Tier.MEDIUM: 1000, Tier.LARGE: 10000}


def test_one_scale_set_leaves_the_others_derived() -> None:
    assert scales(16 * GIB, parse_scales(["small=7"])) == scales(16 * GIB) | {Tier.SMALL: 7}


@pytest.mark.parametrize("word", ["small", "tiny=3", "small=0", "small=x", "small=-1", "=5", ""])
def test_a_bad_scale_is_refused(word: str) -> None:
    with pytest.raises(UsageError, match="does not set a scale factor"):
        parse_scales([word])


def test_an_unknown_preset_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"preset \"fast\" does not exist") as caught:
        preset_named("fast")
    assert "quick, regular, archaeology" in caught.value.hint


def test_regular_takes_at_least_8_samples() -> None:
    assert preset_named("regular").samples >= 8


@pytest.mark.parametrize("preset", PRESETS.values(), ids=str)
def test_a_plan_has_every_combination_once(preset: Preset) -> None:
    cells = [planned.cell for planned in plan(AMPLE, preset)]
    axes = (preset.profiles, preset.tiers, preset.modes, preset.protocols, preset.client_counts)
    expected = 1
    for axis in axes:
        expected *= len(axis)
    assert len(cells) == len(set(cells)) == expected


def test_where_everything_is_ample_everything_can_run() -> None:
    assert all(planned.reason is None for planned in plan(AMPLE))


def test_a_small_disk_rules_out_the_large_tiers_and_says_why() -> None:
    planned = plan(replace(AMPLE, disk_bytes=50 * GIB))
    assert len(planned) == len(plan(AMPLE))
    for one in planned:
        match one.cell.scenario:
            case Scenario(tier=Tier.LARGE):
                assert one.reason is not None
                assert "of disk" in one.reason
            case Scenario(tier=Tier.MEDIUM, mode=Mode.READ_WRITE):
                assert one.reason is not None
                assert "a copy to write to" in one.reason
            case _:
                assert one.reason is None


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (replace(AMPLE, open_files=256), "open files"),
        (replace(AMPLE, processes=200), "processes"),
        (replace(AMPLE, memory_bytes=17 * GIB), "of memory"),
    ],
)
def test_the_ladder_is_cut_at_what_the_machine_can_give(limits: Limits, words: str) -> None:
    reasons = {one.cell.clients: one.reason for one in plan(limits)}
    assert set(reasons) == set(CLIENT_COUNTS)
    assert reasons[1] is None
    assert words in (reasons[256] or "")


def test_the_ladder_is_cut_at_max_connections() -> None:
    planned = plan_cells(
        PRESETS["quick"],
        AMPLE,
        SCALES,
        shared_buffers={"default": 128 << 20},
        max_connections=10,
    )
    reasons = {one.cell.clients: one.reason for one in planned}
    assert reasons[1] is None
    assert "max_connections = 10" in (reasons[16] or "")


@given(st.integers(1, 256), st.integers(1, 512))
def test_threads_follow_clients_up_to_the_cores(clients: int, cores: int) -> None:
    cell = Cell(
        scenario=Scenario(mode=Mode.READ_ONLY, protocol=Protocol.SIMPLE, tier=Tier.SMALL, scale=1),
        clients=clients,
        profile="default",
    )
    assert cell.threads(cores) == min(clients, cores)
    assert cell.facts(cores)["threads"] == cell.threads(cores)
