"""What a person asks of a study besides what its file says, as its report has it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks.workloads.points import Point
from benchmarks.workloads.scenario import Tier
from landspeed.study.plan import plan_study
from landspeed.study.report import with_missing_axes, write_report
from landspeed.study.request import StudyRequest
from landspeed.study.samples import grouped
from landspeed.study.schema import Axes, Kind, PlotExhibit, load_study
from tests.kits.made_up.study_kit import (
    CHECKOUT,
    planned,
    points_of,
    pretended,
    reported,
    slower_with_small_blocks,
)

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("ample")]


def ten_times_as_slow_on_17(point: Point) -> float:
    return slower_with_small_blocks(point) * (10 if point.build.version.major_text == "17" else 1)


def test_releases_that_a_person_adds_are_told_apart(tmp_path: Path) -> None:
    report = reported(planned(tmp_path, "page-size", refs=("17", "18")), ten_times_as_slow_on_17)
    page = write_report(report, tmp_path / "page-size/quick")
    text = (page.parent / "report.md").read_text()
    (table,) = re.findall(r"\n## Block sizes\n(.*?)\n## ", text, re.S)
    assert re.findall(r"^### (.*)$", table, re.M) == ["version 17", "version 18"]
    rows_ = re.findall(r"^\| (\d) \| 3 \| ([\d,.]+) \| [\d.]+ \| .* \| (\S+).*\|$", table, re.M)
    assert [size for size, _, _ in rows_] == ["2", "4", "8"] * 2
    speeds = [float(tps.replace(",", "")) for _, tps, _ in rows_]
    assert [new / old for new, old in zip(speeds[3:], speeds[:3], strict=True)] == pytest.approx(
        [10] * 3, rel=0.1
    )
    (dots,) = page.parent.glob("plot-1-*.svg")
    assert all(f">{word}</text>" in dots.read_text() for word in ("version", "17", "18"))
    (seconds,) = page.parent.glob("plot-2-*.svg")
    assert all(f">version {major}</text>" in seconds.read_text() for major in (17, 18))


@pytest.mark.parametrize("name", ["archaeology", "page-size", "pooler", "storage", "tuned"])
@pytest.mark.parametrize(
    "axes",
    [
        {},
        {"refs": ("17", "18:bs4", "18", "18:bs8-wal16"), "clients": (1, 8)},
        {"tiers": ("small", "medium"), "protocols": ("simple", "prepared")},
        {"refs": ("18",), "profiles": ("default", "tuned", "default-with-work_mem=8MB")},
        {"modes": ("read-only", "read-write"), "storages": ("disk", "tmpfs")},
    ],
)
def test_no_number_is_of_runs_of_two_points(tmp_path: Path, name: str, axes: Any) -> None:
    report = reported(planned(tmp_path, name, **axes))
    for exhibit in (*report.plan.study.plot, *report.plan.study.table):
        if isinstance(exhibit, PlotExhibit) and exhibit.kind is Kind.RANKING:
            continue
        some = [row for row in report.rows if exhibit.part in (None, row.part)]
        shown = with_missing_axes(exhibit, some)
        found = grouped(some, shown.axes)
        assert {len({row.scalars["id"] for row in group}) for group in found.values()} <= {3}
        # and no axis too many
        added = set(shown.axes) - set(exhibit.axes)
        assert all(len({row.axes[axis] for row in some}) > 1 for axis in added)


def test_commands_name_the_servers_when_a_person_chose_them(tmp_path: Path) -> None:
    plan = planned(tmp_path, "archaeology", refs=("17", "18"), clients=(1,))
    page = write_report(reported(plan, lambda point: 1.0), tmp_path / "a/quick")
    text = (page.parent / "report.md").read_text()
    words = "study archaeology 17.11 18.6 --preset quick --clients 1"
    assert f".venv/bin/landspeed {words}\n" in text


@pytest.mark.parametrize("refs", [("17", "18"), ("17:bs4", "18:bs4-wal16"), ("17:bs2", "18")])
def test_the_commands_plan_what_was_measured_and_no_more(
    refs: tuple[str, ...], tmp_path: Path
) -> None:
    plan = planned(tmp_path, "page-size", refs=refs)
    page = write_report(reported(plan), tmp_path / "a/quick")
    text = (page.parent / "report.md").read_text()
    (words,) = re.findall(r"^\.venv/bin/landspeed study page-size (.*) --preset quick$", text, re.M)
    again = planned(tmp_path, "page-size", refs=tuple(words.split()))
    assert points_of(again) == points_of(plan)


def test_commands_have_every_axis_that_a_person_chose(tmp_path: Path) -> None:
    axes = {"protocols": ("simple",), "tiers": ("small",), "modes": ("read-only",)}
    plan = planned(tmp_path, "archaeology", **axes)
    page = write_report(reported(plan, lambda point: 1.0), tmp_path / "a/quick")
    text = (page.parent / "report.md").read_text()
    words = "study archaeology --preset quick --tier small --mode read-only --protocol simple"
    assert f".venv/bin/landspeed {words}\n" in text


def test_a_report_tells_the_scale_and_what_took_the_place_of_its_sizes_own(tmp_path: Path) -> None:
    request = StudyRequest(scales={Tier.SMALL: 3}, seconds=2, axes=Axes(refs=("18",)))
    study = load_study(CHECKOUT, "page-size")
    other = reported(plan_study(pretended(tmp_path), "page-size", study, request))
    text = (write_report(other, tmp_path / "a/quick").parent / "report.md").read_text()
    assert "size *quick*: changed by `--seconds 2 --scale small=3`\n" in text
    assert "\n- data: small, scale 3\n" in text
    own = reported(planned(tmp_path, "page-size", refs=("18",)))
    text = (write_report(own, tmp_path / "b/quick").parent / "report.md").read_text()
    assert f"size *quick*: {study.quick.about}\n" in text


def test_what_is_seen_of_releases_that_a_person_adds_has_a_column_each(tmp_path: Path) -> None:
    page = write_report(
        reported(planned(tmp_path, "page-size", refs=("17", "18"))), tmp_path / "a/quick"
    )
    text = (page.parent / "report.md").read_text()
    columns = " | ".join(f"{version} / {size}" for version in (17, 18) for size in (2, 4, 8))
    assert text.count(f"\n| version / block size, kB | {columns} |\n") == 2
