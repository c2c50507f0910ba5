"""The typed record: read, checked, and written byte for byte as it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.errors import RecordError
from benchmarks.records.record import EvidenceFacts, Record, RunFacts
from tests.kits.made_up.synthetic import Point, counted_record, record, records

GOLDEN = Path(__file__).parent / "golden"
"""Records as landspeed wrote them of real runs before they were typed."""


def text_of(one: Record) -> str:
    return json.dumps(one.to_json(), separators=(",", ":"), ensure_ascii=False)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.json")), ids=lambda path: path.stem)
def test_a_real_record_is_written_byte_for_byte_as_it_was_read(path: Path) -> None:
    text = path.read_text()
    assert text_of(Record.from_json(json.loads(text))) == text


def test_made_up_records_are_written_as_they_were_read() -> None:
    timed = record(Point())
    cell = timed["cell"] | {"buffers": "warm"}
    counted = counted_record(timed["build"], cell, timed["machine"], timed["epoch"])
    for one in (counted, *records()):
        assert text_of(Record.from_json(one)) == json.dumps(
            one, separators=(",", ":"), ensure_ascii=False
        )


def test_fields_have_the_values_of_their_keys() -> None:
    timed = Record.from_json(json.loads((GOLDEN / "timed.json").read_text()))
    assert timed.sample.value("latency_ms") == timed.sample.latency_ms
    assert timed.sample.instructions is None
    assert timed.cell.configuration == "default"
    assert timed.cell.cache_state is None
    assert timed.evidence is not None
    assert timed.evidence.disk.device
    counted = Record.from_json(json.loads((GOLDEN / "counted.json").read_text()))
    assert counted.cell.cache_state in ("warm", "cold")
    assert counted.run.spent == sum(counted.run.phases.values())
    assert counted.passes is not None
    assert len(counted.passes) == 4
    assert counted.evidence is None


def leaves(facts: Any, keys: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if isinstance(facts, dict) and facts:
        for key, value in facts.items():
            yield from leaves(value, (*keys, key))
    else:
        yield keys


def changed(facts: dict[str, Any], keys: tuple[str, ...], value: object) -> dict[str, Any]:
    copy = json.loads(json.dumps(facts))
    at = copy
    for key in keys[:-1]:
        at = at[key]
    at[keys[-1]] = value
    return copy


LEAVES = sorted(leaves(record(Point(mode="read-write"))))


@given(st.sampled_from(LEAVES), st.booleans())
def test_a_wrong_type_is_an_error_that_names_the_key(keys: tuple[str, ...], flag: bool) -> None:
    with pytest.raises(RecordError) as caught:
        Record.from_json(changed(record(Point(mode="read-write")), keys, flag))
    assert f'"{".".join(keys)}"' in caught.value.message


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(
    st.sampled_from(["", "build", "machine", "epoch", "run", "sample", "evidence", "cell"]),
    st.text(min_size=1),
    json_values,
)
def test_a_key_of_a_newer_landspeed_is_kept(part: str, key: str, value: Any) -> None:
    one = record(Point())
    target = one[part] if part else one
    if key in target:
        return
    target["newer " + key] = value
    assert text_of(Record.from_json(one)) == json.dumps(
        one, separators=(",", ":"), ensure_ascii=False
    )


@given(st.sets(st.sampled_from(["evidence", "statistics", "warnings", "series", "stderr"])))
def test_an_optional_key_may_be_missing_or_null(keys: set[str]) -> None:
    without = {key: value for key, value in record(Point()).items() if key not in keys}
    for facts in (without, without | dict.fromkeys(keys)):
        read = Record.from_json(facts)
        assert all(getattr(read, key) is None for key in keys)
        assert read.to_json() == facts


def test_what_was_not_read_has_the_keys_whose_values_are_known() -> None:
    run = RunFacts(preset="quick", round=1, argv=("pgbench",))
    assert run.to_json() == {"preset": "quick", "round": 1, "argv": ["pgbench"]}
    evidence = EvidenceFacts(looks=2, newer=1).model_copy(update={"throttled": 3})
    assert evidence.to_json() == {"looks": 2, "newer": 1, "throttled": 3}
