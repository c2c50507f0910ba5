"""asv's summary of its graphs, made in less time: the same numbers to the last digit."""

from __future__ import annotations

from asv.graph import Graph, make_summary_graph
from hypothesis import given, settings
from hypothesis import strategies as st

from landspeed.asv_steps import numbers_of
from landspeed.renewal_graphs import summary_graph

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
