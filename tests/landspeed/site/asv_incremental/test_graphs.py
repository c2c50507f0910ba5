"""Our faster copies of asv's graphs and summary have the same text, to the last digit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from asv.graph import Graph, make_summary_graph
from hypothesis import given, settings
from hypothesis import strategies as st

from landspeed.site.asv_incremental.graphs import ExtendedGraph, summary_graph
from landspeed.site.asv_incremental.levels import numbers_of
from landspeed.site.asv_incremental.manifest import GraphInfo

_NUMBER = st.floats(1e-6, 1e6)
_GAPPY = st.one_of(st.none(), st.just(float("nan")), _NUMBER, _NUMBER, _NUMBER)


def graph_of(rows: dict[int, list[float | None]], number: int) -> Graph:
    """A graph of asv's of these *rows*, each a list of numbers by line."""
    graph = Graph("read_only.track_latency", {"blocksize": str(number)})
    for revision, values in rows.items():
        graph.add_data_point(revision, values)
    return graph


@st.composite
def graphs(draw: st.DrawFn) -> list[Graph]:
    """Some graphs, each of a few lines over revisions of its own, with gaps; few to very many."""
    found = []
    for number in range(draw(st.integers(1, 3))):
        width = draw(st.integers(1, 4))
        most = draw(st.sampled_from([3, 40, 600]))
        numbers = draw(st.sampled_from([_GAPPY, _NUMBER, _NUMBER.map(lambda one: -one)]))
        line = st.lists(numbers, min_size=width, max_size=width)
        few = draw(st.lists(line, min_size=1, max_size=12))
        gap = draw(st.integers(1, 3))
        rows = {gap * at: few[at * at % len(few)] for at in range(most)}
        # asv draws no graph without a number
        rows[most * gap] = [1.0] * width
        found.append(graph_of(rows, number))
    return found


@settings(max_examples=60)
@given(graphs())
def test_the_summary_is_asvs_to_the_last_digit(some: list[Graph]) -> None:
    ours = summary_graph(some[0].benchmark_name, [numbers_of(one) for one in some])
    theirs = make_summary_graph(some)
    assert ours.path == theirs.path
    assert repr(ours.get_data()) == repr(theirs.get_data())


@pytest.mark.parametrize(
    ("empty", "added", "rows", "still_empty"),
    [
        pytest.param((), {3: 0.7}, [[3, 0.7]], (), id="one more"),
        pytest.param((0,), {3: 0.7}, [[3, 0.7]], (0,), id="an empty one before all"),
        pytest.param((3,), {4: 0.7}, [[3, None], [4, 0.7]], (), id="an empty one at the end"),
        pytest.param((), {3: None}, [], (3,), id="one that is empty"),
        pytest.param((), {3: None, 4: 0.7}, [[3, None], [4, 0.7]], (), id="empty, and one more"),
        pytest.param((), {3: 0.7, 4: None}, [[3, 0.7]], (4,), id="one more, and an empty one"),
    ],
)
def test_an_empty_revision_is_drawn_only_between_others(
    tmp_path: Path,
    empty: tuple[int, ...],
    added: dict[int, float | None],
    rows: list[list[float | None]],
    still_empty: tuple[int, ...],
) -> None:
    old = [[1, 0.5], [2, 0.6]]
    (tmp_path / "old.json").write_text(json.dumps(old))
    info = GraphInfo(
        benchmark="b", params={}, first=("m/f.json", 0), width=1, scalar=True, empty=empty
    )
    graph = ExtendedGraph(info, tmp_path / "old.json", added)
    assert graph.text() == json.dumps([*old, *rows])
    assert graph.info.empty == still_empty
