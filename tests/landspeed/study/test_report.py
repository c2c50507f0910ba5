"""What a study's report says of made-up runs: its numbers, its plots, its data, its commands."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from benchmarks import applicability
from benchmarks.server.configuration import Configuration
from benchmarks.workloads.points import Point
from benchmarks.workloads.sysbench_modes import SysbenchMode
from landspeed.site.pages.report_page import report_page
from landspeed.study import plan as study_planning
from landspeed.study.plan import plan_study
from landspeed.study.report import StudyReport, write_report
from landspeed.study.request import StudyRequest
from landspeed.study.run import write_index
from landspeed.study.samples import Ratio, StudyRow, batches, grouped, summary
from landspeed.study.schema import Axes, load_study
from tests.kits.made_up.study_kit import CHECKOUT, GIB, planned, pretended, reported
from tests.kits.servers.known_settings import RECORDED

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("ample")]


@pytest.fixture
def report(tmp_path: Path) -> StudyReport:
    return reported(planned(tmp_path, "page-size"))


def test_a_record_that_cannot_be_read_keeps_nothing_else_out(
    report: StudyReport, tmp_path: Path
) -> None:
    for left in ([*report.records][1:], []):
        some = replace(report, records={one: report.records[one] for one in left})
        page = write_report(some, tmp_path / "page-size/quick")
        text = (page.parent / "report.md").read_text()
        assert "\n## Block sizes\n" in text


def of(report: StudyReport, part: str, **axes: Any) -> list[StudyRow]:
    wanted = axes.items()
    return [r for r in report.rows if r.part == part and wanted <= r.axes.items()]


def test_a_run_is_a_row_of_every_part_that_asks_for_it(report: StudyReport) -> None:
    blocks = of(report, "blocks", blocksize=8)
    wal = of(report, "WAL blocks", wal_blocksize=8)
    assert [row.scalars["id"] for row in blocks] == [row.scalars["id"] for row in wal]
    assert len(blocks) == 3


def test_rows_are_grouped_in_the_order_a_person_expects(tmp_path: Path) -> None:
    report = reported(planned(tmp_path, "archaeology"), lambda point: 1.0)
    assert [key[0] for key in grouped(report.rows, ["ref"])] == ["9.6.24", "17.11", "18.6"]
    assert [key[0] for key in grouped(report.rows, ["clients"])] == [1, 4, 16]


def test_a_summary_is_of_the_runs_and_their_deviation(report: StudyReport) -> None:
    some = of(report, "blocks", blocksize=8)
    values = sorted(row.scalars["tps"] for row in some)
    found = summary(some, "tps")
    assert found is not None
    assert (found.runs, found.minimum, found.median, found.maximum) == (3, *values)
    mean = sum(values) / 3
    assert found.mean == pytest.approx(mean)
    spread = math.sqrt(sum((value - mean) ** 2 for value in values) / 2)
    assert found.stddev == pytest.approx(spread)
    one = summary(some[:1], "tps")
    assert one is not None
    assert one.stddev is None
    assert summary([], "tps") is None


def test_a_ratio_tells_what_is_there_and_of_too_few_runs_no_interval(report: StudyReport) -> None:
    small, usual = (of(report, "blocks", blocksize=size) for size in (2, 8))
    found = Ratio.of("latency_ms", small, usual)
    assert found is not None
    assert found.value == pytest.approx(1.5 / 1.125, rel=0.05)
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high
    assert found.is_sure
    single = Ratio.of("latency_ms", small[:1], usual[:1])
    assert single is not None
    assert (single.low, single.is_sure) == (None, False)
    assert Ratio.of("latency_ms", [], usual) is None


def of_both(report: StudyReport, part: str, generator: str) -> tuple[list[StudyRow], ...]:
    """The runs of one load generator with 8 clients, on 18 and on 17."""
    return tuple(
        of(report, part, generator=generator, clients=8, version=version)
        for version in ("18", "17")
    )


@pytest.fixture
def by_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StudyReport:
    """A report of two load generators: 18 reads 2 times as fast by pgbench, 4 by sysbench."""
    monkeypatch.setattr(applicability, "sysbench_reason", lambda _: None)
    monkeypatch.setattr(
        study_planning, "sysbench_mode", lambda name: SysbenchMode(name=name, version="1.0.20")
    )

    def latency(point: Point) -> float:
        mode = point.cell.scenario.mode
        gain = {"read-only": 2.0}.get(str(mode), 4.0 if "point-select" in str(mode) else 1.0)
        return 8.0 / (gain if point.build.version.major_text == "18" else 1.0)

    return reported(planned(tmp_path, "sysbench"), latency)


def test_a_ratio_of_ratios_says_how_far_two_changes_are_apart(by_both: StudyReport) -> None:
    sysbench, pgbench = (of_both(by_both, "reads", name) for name in ("sysbench", "pgbench"))
    found = Ratio.of("tps", *sysbench, *pgbench)
    one, other = Ratio.of("tps", *sysbench), Ratio.of("tps", *pgbench)
    assert found is not None
    assert one is not None
    assert other is not None
    assert found.value == pytest.approx(one.value / other.value)
    assert found.value == pytest.approx(2, rel=0.1)
    assert found.is_sure
    updates = [of_both(by_both, "updates", name) for name in ("sysbench", "pgbench")]
    same = Ratio.of("tps", *updates[0], *updates[1])
    assert same is not None
    assert not same.is_sure
    assert Ratio.of("tps", *sysbench, pgbench[0], []) is None


def test_a_ratio_of_ratios_of_other_rounds_is_not_paired(by_both: StudyReport) -> None:
    sysbench, pgbench = (of_both(by_both, "reads", name) for name in ("sysbench", "pgbench"))
    paired = Ratio.of("tps", *sysbench, *pgbench)
    fewer = Ratio.of("tps", sysbench[0], sysbench[1][1:], *pgbench)
    assert paired is not None
    assert fewer is not None
    assert fewer.low is not None
    assert fewer.low != paired.low
    single = Ratio.of("tps", sysbench[0], sysbench[1][:1], *pgbench)
    assert single is not None
    assert single.low is None


def test_what_both_load_generators_say_stands_side_by_side(
    by_both: StudyReport, tmp_path: Path
) -> None:
    page = write_report(by_both, tmp_path / "sysbench/quick")
    text = (page.parent / "report.md").read_text()
    assert "| version | tier | clients | pgbench | sysbench | sysbench / pgbench |" in text
    change = r"\+?(-?\d+)\.\d% \[[^]]+\]"
    row = re.search(rf"^\| 18 \| small \| 8 \| {change} \| {change} \| {change} \|$", text, re.M)
    assert row is not None
    assert [int(number) for number in row.groups()] == pytest.approx([100, 300, 100], abs=30)
    assert "Changes of tx/s compared with 17, 95 % intervals, by load generator. " in text
    assert not re.search(r"^\| 17 \| small \| 8 \|", text, re.M)


def test_other_releases_are_told_by_their_medians(by_both: StudyReport, tmp_path: Path) -> None:
    rows = [row for row in by_both.rows if row.axes["version"] == "18"]
    page = write_report(replace(by_both, rows=rows), tmp_path / "sysbench/quick")
    text = (page.parent / "report.md").read_text()
    assert re.search(r"^\| 18 \| small \| 8 \| [\d,.]+ \| [\d,.]+ \|$", text, re.M)
    assert "Medians, in tx/s." in text


def tuned_report(cache: Path, request: StudyRequest) -> StudyReport:
    """Of servers that are twice as fast with larger buffers, and a little with more WAL."""

    def latency(point: Point) -> float:
        known = Configuration.named(point.cell.profile).settings(RECORDED["18.6"], 16 * GIB)
        return (1 if known["shared_buffers"] == "4096MB" else 2) - 0.2 * ("max_wal_size" in known)

    study = load_study(CHECKOUT, "tuned")
    return reported(plan_study(pretended(cache), "tuned", study, request), latency)


def test_screened_settings_are_ranked_with_what_carries_the_gain_first(tmp_path: Path) -> None:
    page = write_report(tuned_report(tmp_path, StudyRequest()), tmp_path / "tuned/quick")
    text = (page.parent / "report.md").read_text()
    assert "\n## Effect of each setting\n" in text
    ranked = re.findall(r"^\| (\w+) \| ([+-][\d.]+)% \[.*\] \| (<?[\d.]+) \|$", text, re.M)
    assert [name for name, _, _ in ranked[:2]] == ["shared_buffers", "max_wal_size"]
    assert len(ranked) == 10
    assert float(ranked[0][1]) == pytest.approx(110, abs=12)
    assert [p for _, _, p in ranked[:2]] == ["<0.001", "<0.001"]
    assert "a Plackett–Burman design of 12 rows" in text
    words = "study tuned --preset quick --setting max_wal_size --setting shared_buffers"
    assert f".venv/bin/landspeed {words}\n" in text
    (drawn,) = page.parent.glob("plot-*-effect-of-each-setting.svg")
    assert all(name in drawn.read_text() for name, _, _ in ranked)


def test_few_settings_are_ranked_one_at_a_time(tmp_path: Path) -> None:
    settings = (("max_wal_size", None), ("shared_buffers", "4096MB"))
    page = write_report(
        tuned_report(tmp_path, StudyRequest(settings=settings)), tmp_path / "tuned/quick"
    )
    text = (page.parent / "report.md").read_text()
    assert "| setting | added to default, 95 % | added to all others, 95 % |" in text
    (first,) = re.findall(r"^\| shared_buffers \| \+(\d+).*\| \+(\d+)", text, re.M)
    assert float(first[0]) == pytest.approx(100, abs=10)
    # 1.8 to 0.8: more in context
    assert float(first[1]) == pytest.approx(125, abs=10)
    assert "Plackett" not in text
    words = "--preset quick --setting max_wal_size --setting shared_buffers=4096MB"
    assert f".venv/bin/landspeed study tuned {words}\n" in text


def test_a_long_list_of_settings_is_spelled_out_once_and_has_a_name_elsewhere(
    tmp_path: Path,
) -> None:
    settings = tuple((f"enable_thing_{letter}", "off") for letter in "abcdefghijk")
    page = write_report(
        tuned_report(tmp_path, StudyRequest(settings=settings)), tmp_path / "tuned/quick"
    )
    text = (page.parent / "report.md").read_text()
    assert len(re.findall(r"^\| screen-\d\d \| 3 \| ", text, re.M)) == 22
    assert len(re.findall(r"^\| with all settings \| read-only \| ", text, re.M)) == 3
    spelled = "default" + "".join(f"-with-{name}=off" for name, _ in settings)
    assert text.count(f"| with all settings | {spelled} | run:") == 1
    assert text.count(spelled) == 1


def test_without_profiles_that_tell_settings_apart_there_is_no_ranking(tmp_path: Path) -> None:
    request = StudyRequest(axes=Axes(profiles=("default", "tuned")))
    page = write_report(tuned_report(tmp_path, request), tmp_path / "tuned/quick")
    assert "Effect of each setting" not in (page.parent / "report.md").read_text()


def test_points_of_another_day_are_no_pairs_and_the_report_says_so(
    report: StudyReport, tmp_path: Path
) -> None:
    small, usual = (of(report, "blocks", blocksize=size) for size in (2, 8))
    older = [
        replace(row, scalars={**row.scalars, "time": "2025" + row.scalars["time"][4:]})
        for row in usual
    ]
    assert set(batches([*small, *usual]).values()) == {0}
    assert set(batches([*small, *older]).values()) == {0, 1}
    paired, unpaired = (Ratio.of("latency_ms", small, base) for base in (usual, older))
    assert paired is not None
    assert unpaired is not None
    assert unpaired.value == paired.value
    assert unpaired.low != paired.low
    text = (write_report(report, tmp_path / "a/quick").parent / "report.md").read_text()
    assert "batches, each with its own rounds" not in text
    ids = {row.scalars["id"] for row in usual}
    mixed = [*older, *(row for row in report.rows if row.scalars["id"] not in ids)]
    page = write_report(replace(report, rows=mixed), tmp_path / "b/quick")
    assert "- in 2 batches, each with its own rounds" in (page.parent / "report.md").read_text()


def test_a_report_has_numbers_plots_data_and_commands(report: StudyReport, tmp_path: Path) -> None:
    page = write_report(report, tmp_path / "site/page-size/quick")
    text = (page.parent / "report.md").read_text()
    for title in ("Block sizes", "Method", "Provenance", "Raw data"):
        assert f"\n## {title}\n" in text
    assert re.search(r"^\| block size, kB \| runs \| average \| ± stddev \| min \|", text, re.M)
    assert re.search(r"^\| 2 \| 3 \| .*-\d+\.\d% \[-\d+\.\d%, -\d+\.\d%\] \|$", text, re.M)
    assert "- not measured: the server died under pgbench" in text
    assert ".venv/bin/landspeed study page-size --preset quick\n" in text
    drawn = re.findall(r"!\[.*\]\((.*\.svg)\)", text)
    assert len(drawn) == 4
    assert all((page.parent / name).read_text().startswith("<?xml") for name in drawn)
    html = page.read_text()
    assert re.search(r'<td class="number" data-title="[^"]+">3</td>', html)
    assert "style=" not in html
    assert not re.search(r"(src|href)=\"(https?:)?//", html.replace('<a href="https://', ""))
    runs = {row.scalars["id"] for row in report.rows}
    samples = pq.read_table(page.parent / "samples.parquet")
    assert set(samples["id"].to_pylist()) == runs
    assert {"part", "axis_blocksize", "tps", "latency_ms"} <= set(samples.column_names)
    seconds = pq.read_table(page.parent / "seconds.parquet")
    assert set(seconds["id"].to_pylist()) == runs


def test_a_cell_that_is_to_be_read_is_given_the_width() -> None:
    told = "word " * 20
    html = report_page("", "Studies", f"# Studies\n\n| a | b |\n|---|---|\n| {told} | short |\n")
    assert f'<td class="text">{told.strip()}</td>' in html
    assert '<td data-title="b">short</td>' in html


@pytest.mark.slow
def test_the_same_runs_give_the_same_report_to_the_byte(
    report: StudyReport, tmp_path: Path
) -> None:
    pages = [write_report(report, tmp_path / name) for name in ("one", "two", "one")]
    first, second, again = (
        {path.name: path.read_bytes() for path in page.parent.iterdir()} for page in pages
    )
    assert first == second == again
    assert [path.name for path in tmp_path.glob(".*")] == []


def test_words_of_others_are_no_html(report: StudyReport, tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    machine = replace(report.machine, cpu=evil)
    page = write_report(
        StudyReport(
            plan=report.plan,
            machine=machine,
            rows=report.rows,
            records=report.records,
            names={},
            errors=[evil],
        ),
        tmp_path / "one/quick",
    )
    text = page.read_text()
    assert "<script>" not in text
    assert text.count("&lt;script&gt;") >= 2


def test_the_list_has_every_report_and_without_one_there_is_none(
    report: StudyReport, tmp_path: Path
) -> None:
    assert write_index(tmp_path / "studies") is None
    write_report(report, tmp_path / "studies/page-size/quick")
    index = write_index(tmp_path / "studies")
    assert index is not None
    assert '<a href="page-size/quick/index.html">Page size</a>' in index.read_text()
    facts = json.loads((tmp_path / "studies/page-size/quick/report.json").read_text())
    assert facts["runs"] == len({row.scalars["id"] for row in report.rows})


@pytest.mark.parametrize("text", ["", "[1]", "{}"])
def test_the_list_leaves_out_what_cannot_be_read_and_what_was_never_finished(
    text: str, report: StudyReport, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = write_report(report, tmp_path / "page-size/quick")
    damaged = tmp_path / "archaeology/quick/report.json"
    damaged.parent.mkdir(parents=True)
    damaged.write_text(text)
    killed = tmp_path / "page-size/.quick-1a2b3c"
    killed.mkdir()
    (killed / "report.json").write_text(page.with_name("report.json").read_text())
    index = write_index(tmp_path)
    assert index is not None
    assert index.read_text().count('index.html">Page size') == 1
    assert ".quick" not in index.read_text()
    assert str(damaged) in capsys.readouterr().err


def test_a_study_of_which_nothing_could_be_measured_has_a_report(
    report: StudyReport, tmp_path: Path
) -> None:
    nothing = replace(report, rows=[], records={}, errors=["18: it does not start"])
    page = write_report(nothing, tmp_path / "page-size/quick")
    assert "18: it does not start" in page.read_text()
    assert write_index(tmp_path) is not None
