"""The report of an upgrade: what it says of changes, and what gives the old behaviour back."""

from __future__ import annotations

from pathlib import Path

import pytest

from base.errors import UsageError
from landspeed.campaign.suite_causes import CauseKind
from landspeed.campaign.suite_compare import SuiteComparison
from landspeed.cli.study import study_
from landspeed.study.plan import plan_study
from landspeed.study.request import StudyRequest
from landspeed.study.schema import Axes, load_study
from landspeed.study.upgrade import Upgrade
from tests.kits.made_up.study_kit import pretended, reported
from tests.landspeed.campaign.test_suite_compare import CODE, DEFAULT, comparison

STUDY = load_study(Path(__file__).parents[3], "upgrade")


def written(found: SuiteComparison, directory: Path, *timed: str) -> str:
    upgrade = Upgrade.of(STUDY, ("17", "18"), "small")
    assert upgrade is not None
    page = upgrade.write(found, timed, directory, "landspeed study upgrade 17 18")
    assert page.read_text().startswith("<!doctype html>")
    return (page.parent / "report.md").read_text()


def test_the_report_says_what_is_slower_what_is_faster_and_what_gives_it_back(
    tmp_path: Path,
) -> None:
    text = written(comparison(DEFAULT, CODE), tmp_path, "## pgbench, timed", "none")
    assert "**Of 59 workloads, 1 executes more instructions in 18.6 bs8, 1 fewer" in text
    assert "Most more: read-only, cold +42.50 % (default)." in text
    assert "- **`data_checksums=off`** (`initdb --no-data-checksums`, or" in text
    assert "  - read-only, cold: +42.50 % becomes +10.00 %\n" in text
    assert "  - Price: A page that the storage damaged is not noticed" in text
    assert text.index("## Slower") < text.index("## Faster") < text.index("## pgbench, timed")
    assert text.endswith("    landspeed study upgrade 17 18\n")
    listed = (tmp_path / "upgrade" / "index.html").read_text()
    assert '<a href="17.11-bs8-18.6-bs8/index.html">17.11 bs8 to 18.6 bs8</a>' in listed


def test_the_list_leaves_out_a_report_that_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = tmp_path / "upgrade" / "13-17" / "report.json"
    damaged.parent.mkdir(parents=True)
    damaged.write_text("{")
    written(comparison(CODE), tmp_path)
    assert "17.11 bs8 to 18.6 bs8</a>" in (tmp_path / "upgrade" / "index.html").read_text()
    assert f'the report of an upgrade cannot be read and is left out: "{damaged}"' in (
        capsys.readouterr().err
    )


def test_without_a_default_no_setting_gives_anything_back(tmp_path: Path) -> None:
    assert CODE.kind is CauseKind.CODE
    assert "No setting: nothing that changed goes with" in written(comparison(CODE), tmp_path)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["upgrade", "17"], "an upgrade is from one server to another"),
        (["upgrade", "17", "17", "--dry-run"], "an upgrade is from one server to another"),
        (["page-size", "--suite", "small"], 'study "page-size" counts no suite'),
    ],
)
def test_an_upgrade_has_two_servers_and_other_studies_no_suite(
    words: list[str], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        study_.main(words, standalone_mode=False)


def test_what_was_timed_is_compared_with_the_first_server(tmp_path: Path) -> None:
    upgrade = Upgrade.of(STUDY, ("9.6", "18"), "small")
    assert upgrade is not None
    request = StudyRequest(axes=Axes(refs=("9.6", "18")))
    plan = plan_study(pretended(tmp_path), "upgrade", STUDY, request)
    report = reported(plan, lambda point: 2.0 if point.build.origin.name.startswith("18") else 1.0)
    title, *_, rows = upgrade.timed(report)
    assert title == "## pgbench, timed"
    assert "change from 9.6.24, 95 %" in rows
    assert "-50" in next(line for line in rows.splitlines() if line.startswith("| 18"))
