"""Two servers compared over a suite: how their changes are told."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from base.errors import MeasureError, UsageError
from landspeed.campaign.suite_brief import suite_brief
from landspeed.campaign.suite_causes import (
    CauseKind,
    ChangePart,
)
from landspeed.campaign.suite_compare import SuiteChange, SuiteComparison
from landspeed.campaign.suite_report import suite_mail, suite_markdown, suite_text
from landspeed.cli import compare
from landspeed.cli.compare import compare_
from landspeed.console.table import as_text
from landspeed.profiling.edited import EditedFunctions

DEFAULT = SuiteChange(
    workload="read-only",
    state="cold",
    before=40_000.0,
    after=57_000.0,
    parts=(
        ChangePart(
            kind=CauseKind.DEFAULT,
            cause=("data_checksums",),
            before=44_000.0,
            after=57_000.0,
            settings=("data_checksums=off",),
        ),
        ChangePart(
            kind=CauseKind.CODE, cause=("ReadBuffer +4,000",), before=40_000.0, after=44_000.0
        ),
    ),
)
CODE = SuiteChange(
    workload="sort-text",
    state="warm",
    before=1000.0,
    after=965.0,
    parts=(
        ChangePart(
            kind=CauseKind.CODE,
            cause=("ExecScan -610", "qsort_tuple +4"),
            before=1000.0,
            after=965.0,
        ),
    ),
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
    assert "default, code" in text
    assert "+29.55 % data_checksums (not with data_checksums=off); +10.00 % ReadBuffer" in text
    assert "1 workload that one of the two does not have." in text
    assert "Not counted: could not count brin." in text
    assert "| -3.50 % | sort-text | 1,000.0 | 965 | code | `ExecScan -610`, `qsort_tuple +4` |" in (
        suite_markdown(comparison(CODE))
    )


def test_commits_that_changed_the_functions_are_named_and_their_subjects_are_no_markup() -> None:
    hostile = "0123456789 2025-01-01 Close #1 for <b>@you</b>"
    part = replace(CODE.parts[0], commits=(hostile, "abcdefabcd 2025-01-02 Scan"))
    found = comparison(replace(CODE, parts=(part,)), replace(CODE, parts=(part,)))
    told = f"Commits that changed these functions: {hostile}; abcdefabcd 2025-01-02 Scan."
    assert told in as_text(suite_text(found)).replace("\n", " ")
    assert f"these functions: `{hostile}`; `abcdefabcd" in suite_markdown(found)


def test_a_mail_fits_72_columns_and_says_how_to_repeat_it() -> None:
    mail = suite_mail(comparison(DEFAULT, CODE), "landspeed compare 17 18 --suite standard")
    assert max(map(len, mail.splitlines())) <= 72
    assert mail.endswith("To repeat it:\n  landspeed compare 17 18 --suite standard\n")


def test_five_sentences_say_what_was_built_what_differs_why_how_sure_and_where_to_look() -> None:
    built, differs, why, sure, look = suite_brief(comparison(DEFAULT, CODE), "17 18").split("\n")
    assert "17.11 bs8 and 18.6 bs8 were built from source" in built
    assert built.endswith("the instructions of 59 workloads counted on both; 1 count failed.")
    assert "more instructions in 1, fewer in 1 and as many in 57; most changed" in differs
    assert '"read-only, cold"' in differs
    assert "+29.55 % is the new default of data_checksums (data_checksums=off gives it back)" in why
    assert "+10.00 % is code, most of it in ReadBuffer." in why
    assert "18.6 bs8 was counted again with data_checksums=off" in sure
    assert "landspeed explain 17 18 --scenario read-only/////cold" in look


def test_of_servers_that_do_not_differ_three_sentences_are_enough() -> None:
    _, differs, look = suite_brief(comparison(), "17 18").splitlines()
    assert differs == "- None differs by 0.2 % or more."
    assert "explain" not in look


def test_a_change_whose_profiles_were_not_kept_has_no_functions_to_name() -> None:
    unknown = replace(CODE, parts=(replace(CODE.parts[0], cause=()),))
    assert "-3.50 % is code.\n" in suite_brief(comparison(unknown), "17 18")


def test_no_change_is_told_without_a_table() -> None:
    assert "change" not in as_text(suite_text(comparison())).splitlines()[1:2]


def test_a_patch_is_told_with_what_no_workload_runs_of_it() -> None:
    edited = EditedFunctions(
        executed=("ExecScan",), unguarded=("ExecReScan", "ExecMarkPos"), inlined=("ExecScanFetch",)
    )
    patch = "0123456789 is v1-0001-slow.patch on master (9876543210)."
    found = replace(comparison(CODE), patch=patch, edited=edited)
    for text in (as_text(suite_text(found)), suite_markdown(found)):
        assert patch in text
        assert "The patch changes 4 functions; these workloads execute 1 of them." in text
        assert "No workload executes ExecReScan, ExecMarkPos." in text
        assert "inlined or in a library: ExecScanFetch." in text
    assert max(map(len, suite_mail(found, "landspeed").splitlines())) <= 72
    innocent = replace(found, edited=EditedFunctions())
    assert "No function differs, but for comments and its place." in suite_markdown(innocent)
    # of two releases nothing is said
    assert "function" not in suite_markdown(comparison())


def test_the_largest_increase_is_what_may_fail_a_job() -> None:
    assert comparison(CODE).slower == 0.0
    assert comparison(CODE, DEFAULT).slower == pytest.approx(0.425)
    assert comparison().slower == 0.0


def test_a_workload_that_only_the_first_side_could_run_fails_a_job_that_may_fail(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = replace(comparison(CODE), lost=("brin",))
    sides = SimpleNamespace(patch="")
    monkeypatch.setattr(compare, "_suite_sides", lambda *_: sides)
    monkeypatch.setattr(compare, "compare_suite", lambda *_: found)
    words = ["17", "18", "--suite", "small"]
    compare_.main(words, standalone_mode=False)
    with pytest.raises(MeasureError, match=r"18\.6 bs8 could not be counted") as caught:
        compare_.main([*words, "--fail-on", "2%"], standalone_mode=False)
    assert "brin" in caught.value.detail


# --- kinds ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["17", "18", "--mail"], "--mail needs --suite or --workload"),
        (["17", "18", "--suite", "small", "--metric", "tps"], "--suite does not go with --metric"),
        (["17", "18", "13", "--suite", "small"], "a suite compares two servers"),
        (["18", "--patch", __file__], "--patch needs --suite or --workload"),
        (["17", "18", "--fail-on", "1%"], "--fail-on needs --suite or --workload"),
        (
            ["17", "18", "--suite", "small", "--fail-on", "0.1%"],
            "--fail-on 0.1 % is less than --size 0.2 %",
        ),
    ],
)
def test_options_that_say_nothing_together_are_refused(words: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        compare_.main(words, standalone_mode=False)
