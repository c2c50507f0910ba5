"""A study's plots: one legend for all panels, in which a line is what it is in every panel."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from matplotlib.colors import to_hex

from benchmarks.records.record import SeriesFacts
from landspeed.study.plots import COLOURS, draw
from landspeed.study.samples import StudyRow, Value
from landspeed.study.schema import Kind, PlotExhibit

pytestmark = pytest.mark.slow

OLD, NEW = map(to_hex, COLOURS[:2])


def row(number: int, **axes: Value) -> StudyRow:
    return StudyRow(
        part="releases",
        axes=axes,
        scalars={"id": f"{number:032x}", "tps": 1000.0 + 7 * number, "latency_ms": 1.0},
    )


def drawn(
    plot: PlotExhibit,
    rows: list[StudyRow],
    path: Path,
    series: Mapping[str, SeriesFacts] | None = None,
) -> str:
    assert draw(plot, rows, series or {}, path)
    return path.read_text()


def plot(kind: Kind, x: str, **more: object) -> PlotExhibit:
    return PlotExhibit.model_validate(
        {"title": "A plot", "kind": kind, "x": x, "each": ["mode"], **more}
    )


def lines_of(svg: str, width: str) -> Counter[str]:
    """How many lines of this width there are in each colour; bars end otherwise."""
    opacity = r"(?:stroke-opacity: [\d.]+; )?"
    style = rf"stroke: (#\w+); {opacity}stroke-width: {re.escape(width)}; stroke-linecap: square"
    return Counter(re.findall(style, svg))


def some(modes: tuple[str, ...], clients: tuple[int, ...] = (1, 4)) -> list[StudyRow]:
    """Runs of 17 and 18, but of 18 alone in the first mode."""
    return [
        row(number, ref=ref, mode=mode, clients=count)
        for number, (mode, ref, count) in enumerate(
            (mode, ref, count)
            for mode in modes
            for ref in (("18",) if mode == modes[0] else ("17", "18"))
            for count in clients
        )
    ]


@pytest.mark.parametrize("kind", [Kind.LINES, Kind.DOTS])
def test_there_is_one_legend_and_a_release_has_one_colour_in_all_panels(
    kind: Kind, tmp_path: Path
) -> None:
    rows = some(("read-only", "read-write"))
    svg = drawn(plot(kind, "clients", lines="ref"), rows, tmp_path / "plot.svg")
    assert re.findall(r">(17|18|release)</text>", svg) == ["release", "17", "18"]
    if kind is Kind.LINES:
        # one in the legend, and one in each panel that has it
        assert lines_of(svg, "1.4") == {OLD: 2, NEW: 3}


def test_what_stands_at_one_place_stands_a_little_apart(tmp_path: Path) -> None:
    rows = some(("read-only", "read-write"))
    svg = drawn(plot(Kind.LINES, "clients", lines="ref"), rows, tmp_path / "plot.svg")
    lines = re.findall(r'<path d="M ([\d.]+) [^"]*"[^>]*stroke-width: 1.4; stroke-line', svg)
    # 18 in the first panel, 17 and 18 in the second
    old, new = map(float, lines[1:3])
    assert 1 < new - old < 40


def test_runs_second_by_second_are_told_apart_by_x(tmp_path: Path) -> None:
    rows = [row(number, blocksize=size, mode="read-only") for number, size in enumerate((2, 8, 8))]
    series = {
        one.scalars["id"]: SeriesFacts(seconds=(1.0, 2.0), tps=(5.0, 6.0), latency_ms=(1.0, 1.0))
        for one in rows
    }
    svg = drawn(plot(Kind.SECONDS, "blocksize"), rows, tmp_path / "plot.svg", series)
    assert lines_of(svg, "0.9") == {OLD: 2, NEW: 3}
    assert svg.count(">block size, kB</text>") == 1


@pytest.mark.parametrize(("panels", "columns"), [(1, 1), (2, 2), (3, 3), (4, 2), (5, 3)])
@pytest.mark.slow
def test_panels_are_laid_out_as_a_page_is_wide(panels: int, columns: int, tmp_path: Path) -> None:
    modes = tuple(f"mode-{number}" for number in range(panels))
    svg = drawn(plot(Kind.LINES, "clients", lines="ref"), some(modes), tmp_path / "plot.svg")
    places = re.findall(r'translate\(([\d.]+) ([\d.]+)\)"[^>]*>mode-', svg)
    places = places or re.findall(r'x="([\d.]+)" y="([\d.]+)"[^>]*>mode-', svg)
    first = [x for x, y in places if y == places[0][1]]
    assert (len(places), len(first)) == (panels, columns)


def test_without_anything_that_tells_lines_apart_there_is_no_legend(tmp_path: Path) -> None:
    svg = drawn(plot(Kind.DOTS, "ref"), some(("read-only",)), tmp_path / "plot.svg")
    assert "legend" not in svg


@pytest.mark.parametrize("number", [1, 2, 3])
def test_an_average_stands_beside_its_dots_and_on_those_of_no_other_line(
    number: int, tmp_path: Path
) -> None:
    rows = [
        row(one, mode="read-only", ref=ref, blocksize=size)
        for ref in ("13", "17", "18")[:number]
        for size in (2, 4, 8)
        for one in range(10)
    ]
    svg = drawn(plot(Kind.DOTS, "blocksize", lines="ref"), rows, tmp_path / "plot.svg")
    marks = re.findall(r'<use [^>]*x="([\d.]+)"[^>]*style="fill: #\w+;( fill-opacity)?', svg)
    dots = [float(x) for x, faint in marks if faint]
    averages = [float(x) for x, faint in marks if not faint]
    assert len(dots) == 10 * 3 * number
    # in points: an average is 9 wide, a dot 3.5
    assert min(abs(dot - average) for dot in dots for average in averages) > (9 + 3.5) / 2
