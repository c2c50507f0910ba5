"""What a study would measure here, what that takes, and what it leaves out and why."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from base.build import Build, ExternalServer, Origin
from base.errors import UsageError
from benchmarks import applicability as planning_
from benchmarks.workloads.sysbench_modes import SysbenchMode
from landspeed.cli.study import parse_setting, render_study
from landspeed.study import plan as study_planning
from landspeed.study.plan import StudyPlan, plan_study, study_facts
from landspeed.study.request import StudyRequest
from landspeed.study.schema import Axes, Size, load_study
from tests.kits.made_up.stand_ins import made_up_build
from tests.kits.made_up.study_kit import CHECKOUT, GIB, MACHINE, pretended

GOLDEN = Path(__file__).resolve().parents[2] / "golden"


pytestmark = pytest.mark.usefixtures("ample")


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with pgbouncer and sysbench, whatever this one has."""
    monkeypatch.setattr(planning_, "pooler_reason", lambda: None)
    monkeypatch.setattr(planning_, "sysbench_reason", lambda _: None)
    monkeypatch.setattr(
        study_planning, "sysbench_mode", lambda name: SysbenchMode(name=name, version="1.0.20")
    )


def planned(
    cache: Path, name: str, request: StudyRequest | None = None, **rest: Any
) -> tuple[Any, StudyPlan]:
    session = pretended(cache, **rest)
    return session, plan_study(session, name, load_study(CHECKOUT, name), request or StudyRequest())


@pytest.mark.parametrize("name", ["page-size", "archaeology", "pooler", "tuned", "sysbench"])
def test_a_plan_of_a_study_reads_as_it_did(tmp_path: Path, name: str) -> None:
    """Rewrite the golden files with LANDSPEED_GOLDEN=write, and read the difference."""
    path = GOLDEN / f"study-{name}.txt"
    text = render_study(study_facts(*planned(tmp_path, name))) + "\n"
    if os.environ.get("LANDSPEED_GOLDEN") == "write":
        path.write_text(text)
    assert text == path.read_text()


def test_every_major_is_its_newest_release_within_reach_and_the_others_are_told(
    tmp_path: Path,
) -> None:
    _, plan = planned(tmp_path, "archaeology")
    assert [t.ref for t in plan.parts[0].request.targets] == ["9.6.24", "17.11", "18.6"]
    assert [one.what for one in plan.skipped] == ["8.4.22"]
    assert "no upstream is configured" in plan.skipped[0].reason


def test_what_a_person_names_takes_the_place_of_an_axis(tmp_path: Path) -> None:
    axes = Axes(refs=("17", "18:bs4"), clients=(2,))
    request = StudyRequest(axes=axes, repeats=9, seconds=1)
    _, plan = planned(tmp_path, "archaeology", request)
    assert [str(t) for t in plan.parts[0].request.targets] == ["17:bs8", "18:bs4"]
    assert {one.cell.clients for one in plan.parts[0].cells} == {2}
    assert (plan.preset.samples, plan.preset.seconds) == (9, 1)


def test_a_larger_size_measures_more(tmp_path: Path) -> None:
    runs = []
    for size in Size:
        runs.append(
            study_facts(*planned(tmp_path, "page-size", StudyRequest(size=size)))["about_seconds"]
        )
    assert runs == sorted(runs)
    assert len(set(runs)) == 3


def test_direct_connections_end_at_the_servers_limit_and_pooled_ones_do_not(tmp_path: Path) -> None:
    _, plan = planned(tmp_path, "pooler")
    reasons = {(c.cell.clients, c.cell.profile[-9:]): c.reason for c in plan.parts[0].cells}
    assert "max_connections = 40" in (reasons[64, "ctions=40"] or "")
    assert reasons[64, "pgbouncer"] is None


def test_without_a_pooler_the_study_says_what_would_bring_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = 'pgbouncer is not installed: "apt-get install pgbouncer" brings it'
    monkeypatch.setattr(planning_, "pooler_reason", lambda: reason)
    facts = study_facts(*planned(tmp_path, "pooler"))
    missing = {c["not_applicable"] for c in facts["parts"][0]["cells"] if c["clients"] == 1}
    assert missing == {None, reason}


def test_without_sysbench_the_study_measures_what_pgbench_can_and_says_what_would_bring_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = 'sysbench is not installed: "apt-get install sysbench" brings it'
    monkeypatch.setattr(planning_, "sysbench_reason", lambda _: reason)
    _, plan = planned(tmp_path, "sysbench")
    told = {(str(c.cell.scenario.mode)[:4], c.reason) for part in plan.parts for c in part.cells}
    assert told == {("read", None), ("oltp", reason)}


def test_both_load_generators_have_data_of_their_own(tmp_path: Path) -> None:
    both = study_facts(*planned(tmp_path, "sysbench"))
    request = StudyRequest(axes=Axes(modes=("read-only", "read-write")))
    alone = study_facts(*planned(tmp_path, "sysbench", request))
    assert both["disk_bytes"] == 2 * alone["disk_bytes"]


def test_a_mode_that_a_person_names_is_pgbenchs_sysbenchs_or_the_studys(tmp_path: Path) -> None:
    known = {"sysbench": "oltp-read-only", "custom": "custom", "pooler": "read-only"}
    for name, word in known.items():
        _, plan = planned(tmp_path, name, StudyRequest(axes=Axes(modes=(word,))))
        assert {str(c.cell.scenario.mode).startswith(word) for c in plan.parts[0].cells} == {True}
    with pytest.raises(UsageError, match='study "sysbench" has no mode "oltp"') as caught:
        planned(tmp_path, "sysbench", StudyRequest(axes=Axes(modes=("oltp",))))
    assert "oltp-read-only" in caught.value.hint


def test_without_a_registered_server_a_study_of_forks_is_refused_with_the_command(
    tmp_path: Path,
) -> None:
    with pytest.raises(UsageError, match="nothing of study") as caught:
        planned(tmp_path, "forks")
    assert "landspeed build --from PG_CONFIG --name NAME" in caught.value.detail


def test_a_fork_is_measured_beside_the_release_that_it_is_of(tmp_path: Path) -> None:
    known = Origin(release=None, commit=None, tree="", date="2025-01-01", registered="vendor")
    vendor = replace(made_up_build("vendor", known, version="17.11"))
    settings = (("vendor.turbo", "on"),)
    _, plan = planned(tmp_path, "forks", StudyRequest(settings=settings), registered=[vendor])
    equal, extras = plan.parts
    assert [str(t) for t in equal.request.targets] == ["@vendor", "17:bs8"]
    assert [str(t) for t in extras.request.targets] == ["@vendor"]
    assert extras.request.preset.profiles == ("default-with-vendor.turbo=on",)


def test_without_extras_a_fork_is_measured_on_equal_settings_alone(tmp_path: Path) -> None:
    known = Origin(release=None, commit=None, tree="", date="2025-01-01", registered="vendor")
    vendor = made_up_build("vendor", known, version="17.11")
    _, plan = planned(tmp_path, "forks", registered=[vendor])
    assert [one.part.name for one in plan.parts] == ["equal settings"]
    (left,) = plan.skipped
    assert str(left).startswith('with its extras: no setting is given: "--setting NAME=VALUE"')


def test_scripts_of_ones_own_take_the_place_of_the_studys(tmp_path: Path) -> None:
    path = tmp_path / "mine.sql"
    path.write_text("SELECT 1;")
    _, plan = planned(tmp_path, "custom", StudyRequest(files=((path, 3),)))
    (mode,) = plan.preset.modes
    assert getattr(mode, "parts", None) == (("SELECT 1;", 3),)
    with pytest.raises(UsageError, match="does not have exactly one script"):
        planned(tmp_path, "pooler", StudyRequest(files=((path, 3),)))


def test_larger_rows_need_more_disk(tmp_path: Path) -> None:
    facts = study_facts(*planned(tmp_path, "page-size"))
    less = planned(tmp_path, "page-size", StudyRequest(axes=Axes(modes=("read-write",))))
    assert facts["disk_bytes"] > study_facts(*less)["disk_bytes"]


def test_a_setting_that_the_measured_version_does_not_have_is_not_left_out_of_it(
    tmp_path: Path,
) -> None:
    _, plan = planned(tmp_path, "tuned")
    names = {name for one in plan.parts for name in one.request.preset.profiles}
    assert any("max_wal_size" in name for name in names)
    assert not any("checkpoint_segments" in name for name in names)


def test_settings_of_ones_own_take_the_place_of_what_tuned_has(tmp_path: Path) -> None:
    settings = tuple((name, "on") for name in ("jit", "wal_compression"))
    _, plan = planned(tmp_path, "tuned", StudyRequest(settings=settings))
    both = "default-with-jit=on-with-wal_compression=on"
    first, ablation = (one.request.preset.profiles for one in plan.parts)
    assert first == ("default", both)
    assert set(ablation) == {
        *("default", "default-with-jit=on", "default-with-wal_compression=on", both)
    }


def test_which_of_eleven_settings_it_is_takes_24_profiles(tmp_path: Path) -> None:
    settings = tuple((f"enable_{letter}", "off") for letter in "abcdefghijk")
    facts = study_facts(*planned(tmp_path, "tuned", StudyRequest(settings=settings)))
    told = facts["parts"][1]["ablation"]
    assert len(told["settings"]) == 11
    assert (told["screen"], told["one_at_a_time"]) == (24, 24)
    assert len({cell["profile"] for cell in facts["parts"][1]["cells"]}) == 24


def test_the_full_size_has_one_at_a_time_too(tmp_path: Path) -> None:
    _, plan = planned(tmp_path, "tuned", StudyRequest(size=Size.FULL))
    names = {
        n for one in plan.parts if one.part.name == "ablation" for n in one.request.preset.profiles
    }
    assert len(names) == 24 + 2 * 10


def test_settings_that_a_study_does_not_ask_for_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match='"page-size" does not use settings') as caught:
        planned(tmp_path, "page-size", StudyRequest(settings=(("jit", "off"),)))
    assert "tuned" in caught.value.hint
    axes = Axes(profiles=("tuned",))
    with pytest.raises(UsageError, match="does not use settings"):
        planned(tmp_path, "tuned", StudyRequest(axes=axes, settings=(("jit", "off"),)))


@pytest.mark.parametrize(
    ("word", "setting"), [("jit=off", ("jit", "off")), ("max_wal_size", ("max_wal_size", None))]
)
def test_a_setting_is_a_name_with_or_without_its_value(
    word: str, setting: tuple[str, str | None]
) -> None:
    assert parse_setting(word) == setting


@pytest.mark.parametrize("word", ["", "=off", "jit="])
def test_what_is_no_setting_is_refused(word: str) -> None:
    with pytest.raises(UsageError, match="is not a setting"):
        parse_setting(word)


def with_citus(root: Path, name: str) -> Build:
    """A registered server that has the extension."""
    known = Origin(release=None, commit=None, tree="", date="2025-01-01", registered=name)
    control = root / name / "extension/citus.control"
    control.parent.mkdir(parents=True)
    control.touch()
    places = dict.fromkeys(("pg_config", "bindir", "libdir", "pkglibdir", "said"), "/nowhere")
    foreign = ExternalServer(**places, sharedir=str(control.parent.parent))
    return replace(made_up_build(name, known, version="18.1"), external=foreign)


def test_servers_with_citus_are_sharded_and_the_others_are_told_what_would_bring_it(
    tmp_path: Path,
) -> None:
    known = Origin(release=None, commit=None, tree="", date="2025-01-01", registered="plain")
    servers = [with_citus(tmp_path, "citus18"), made_up_build("plain", known)]
    request = StudyRequest(size=Size.REGULAR)
    session, plan = planned(tmp_path, "sharded", request, registered=servers)
    facts = study_facts(session, plan)
    assert [part["targets"] for part in facts["parts"]] == [["@citus18"], ["@citus18"]]
    profiles = {one.cell.profile for part in plan.parts for one in part.cells}
    assert profiles == {"default", "default-across-2-workers"}
    told = render_study(facts)
    for part in ("in one branch", "in any branch"):
        assert f"{part}: @plain: its build has no extension citus" in told
    assert "landspeed build --from PG_CONFIG --name NAME" in told


def test_a_release_that_landspeed_builds_has_no_extension_to_shard_it_by(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing of study") as caught:
        planned(tmp_path, "sharded", StudyRequest(axes=Axes(refs=("18",))))
    assert "18:bs8: its build has no extension citus" in caught.value.detail


def test_several_servers_take_the_memory_of_all_and_the_disk_of_all(tmp_path: Path) -> None:
    server = with_citus(tmp_path, "citus18")
    alone = StudyRequest(axes=Axes(topologies=("single",)))
    one, all_ = (
        study_facts(*planned(tmp_path, "sharded", request, registered=[server]))
        for request in (alone, StudyRequest())
    )
    assert all_["memory_bytes"] == 3 * one["memory_bytes"]
    assert all_["disk_bytes"] - one["disk_bytes"] > one["disk_bytes"]


def test_a_limit_of_memory_is_not_shared_out_among_servers(tmp_path: Path) -> None:
    server = with_citus(tmp_path, "citus18")
    limited = MACHINE.limited(4 * GIB)
    _, plan = planned(tmp_path, "sharded", registered=[server], machine=limited)
    reasons = {
        one.cell.profile: one.reason for part in plan.parts for one in part.cells if one.reason
    }
    assert list(reasons) == ["default-across-2-workers"]
    assert "a limit of memory is one server's" in reasons["default-across-2-workers"]


def test_pgbenchs_own_scripts_are_not_sharded(tmp_path: Path) -> None:
    server = with_citus(tmp_path, "citus18")
    request = StudyRequest(axes=Axes(modes=("read-only",)))
    _, plan = planned(tmp_path, "sharded", request, registered=[server])
    reasons = {one.cell.profile: one.reason for one in plan.parts[0].cells}
    assert reasons["default"] is None
    assert "landspeed study sharded" in (reasons["default-across-2-workers"] or "")
