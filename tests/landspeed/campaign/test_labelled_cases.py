"""The changes whose kind is known: what they say, and when one is told rightly."""

from __future__ import annotations

from collections import Counter

from benchmarks.workloads.catalog import named
from landspeed.campaign.suite_causes import CauseKind, ChangePart, configuration_of
from perf.workloads.labelled_cases import LabelledCase, labelled_cases


def test_there_are_thirty_cases_of_all_kinds_each_of_which_can_be_counted() -> None:
    cases = labelled_cases()
    kinds = Counter(CauseKind(one.kind) for one in cases)
    assert len(cases) >= 30
    assert min(kinds[kind] for kind in (CauseKind.DEFAULT, CauseKind.PLAN, CauseKind.CODE)) >= 9
    for one in cases:
        assert named(one.workload)
        assert bool(one.plant) != bool(one.because)
        assert one.plant in ("", one.kind)
        if one.settings:
            assert configuration_of(one.settings)


def test_a_case_is_told_rightly_if_the_largest_part_has_its_kind_and_cause() -> None:
    case = LabelledCase(workload="sort", before="17", after="18", kind="default", cause="work_mem")
    found, other = (
        ChangePart(kind=kind, cause=(cause,), before=1.0, after=2.0)
        for kind, cause in ((CauseKind.DEFAULT, "work_mem"), (CauseKind.CODE, "ExecSort +1"))
    )
    assert case.is_right([found, other])
    assert not case.is_right([other, found])
    assert not LabelledCase(
        workload="sort", before="17", after="18", kind="default", cause="jit"
    ).is_right([found])
