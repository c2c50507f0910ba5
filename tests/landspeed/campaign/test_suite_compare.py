"""Two servers compared over a suite: kinds of changes, and how they are told."""

from __future__ import annotations

import pytest

from landspeed.campaign import suite_compare
from landspeed.campaign.suite_compare import CauseKind, SuiteChange, SuiteComparison, old_defaults
from landspeed.campaign.suite_report import suite_mail, suite_markdown, suite_text
from landspeed.console.table import as_text

DEFAULT = SuiteChange(
    workload="read-only",
    state="cold",
    before=40_000.0,
    after=57_000.0,
    kind=CauseKind.DEFAULT,
    cause=("data_checksums",),
    old_default=44_000.0,
)
CODE = SuiteChange(
    workload="sort-text",
    state="warm",
    before=1000.0,
    after=965.0,
    kind=CauseKind.CODE,
    cause=("ExecScan -610", "qsort_tuple +4"),
)


def comparison(*changes: SuiteChange) -> SuiteComparison:
    return SuiteComparison(
        before="17.11 bs8",
        after="18.6 bs8",
        size=0.002,
        changes=changes,
        same=57,
        missing=1,
        errors=("could not count brin",),
    )


def test_a_report_names_each_change_with_its_kind_and_its_cause() -> None:
    text = as_text(suite_text(comparison(DEFAULT, CODE)))
    assert text.startswith("57 of 59 workloads the same in 18.6 bs8 as in 17.11 bs8")
    assert "+42.50 %  read-only, cold" in text
    assert "data_checksums (+10.00 % with the old default)" in text
    assert "1 workload that one of the two does not have." in text
    assert "Not counted: could not count brin." in text
    assert "| -3.50 % | sort-text | 1,000.0 | 965 | code | ExecScan -610, qsort_tuple +4 |" in (
        suite_markdown(comparison(CODE))
    )


def test_a_mail_fits_72_columns_and_says_how_to_repeat_it() -> None:
    mail = suite_mail(comparison(DEFAULT, CODE), ("17", "18"), ["--suite", "standard"])
    assert max(map(len, mail.splitlines())) <= 72
    assert mail.endswith("To repeat it:\n  landspeed compare 17 18 --suite standard\n")


def test_no_change_is_told_without_a_table() -> None:
    assert "change" not in as_text(suite_text(comparison())).splitlines()[1:2]


def test_old_defaults_are_those_that_differ_and_that_landspeed_leaves_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sides = {
        "old": {
            "effective_io_concurrency": ("INTEGER", "1"),
            "work_mem": ("INTEGER", "64"),
            "jit": ("BOOL", "off"),
            "log_connections": ("BOOL", "off"),
        },
        "new": {
            "effective_io_concurrency": ("INTEGER", "16"),
            "work_mem": ("INTEGER", "64"),
            "jit": ("BOOL", "on"),
            "log_connections": ("ENUM", ""),
            "io_method": ("ENUM", "worker"),
        },
    }
    monkeypatch.setattr(suite_compare, "setting_defaults", lambda build: sides[build])
    found = old_defaults("old", "new")  # type: ignore[arg-type]
    # jit is off in every count
    assert found == {"effective_io_concurrency": "1", "io_method": "sync"}
