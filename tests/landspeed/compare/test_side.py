"""How sides, scenarios, shares and times are spelled; doubles, and what is the same server."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from base.build import BUILD_JSON, Build, Variant
from base.errors import BusyError, NotApplicableError, UsageError
from base.files import canonical_json
from base.paths import Paths
from benchmarks.machine.machine import Machine
from benchmarks.workloads.scenario import Mode, Protocol, Tier
from landspeed.compare.aa_copy import aa_copy
from landspeed.compare.prepare import cells_of, plan_comparison
from landspeed.compare.side import CompareScenario, Side, parse_scenario
from landspeed.console.params import parse_duration, parse_share
from landspeed.session.target import Target
from tests.kits.made_up.compare_kit import LATENCY, FakeSession, build

EIGHT = Variant()


@pytest.mark.parametrize(
    ("word", "ref", "variant", "profile"),
    [
        ("18", "18", "bs8", "default"),
        ("18/tuned", "18", "bs8", "tuned"),
        ("18:bs4", "18", "bs4", "default"),
        ("18:bs4/tuned", "18", "bs4", "tuned"),
        ("@debian15/tuned", "@debian15", "bs8", "tuned"),
        ("feature/faster", "feature/faster", "bs8", "default"),
        ("feature/faster/tuned", "feature/faster", "bs8", "tuned"),
    ],
)
def test_a_side_is_a_target_and_maybe_a_profile(
    word: str, ref: str, variant: str, profile: str
) -> None:
    wanted = Side(target=Target(ref=ref, variant=Variant.parse(variant)), profile=profile)
    assert Side.parse(word, EIGHT, "default") == wanted


@pytest.mark.parametrize("word", ["18/warp", "18:bs4/warp", "@debian15/warp"])
def test_what_stands_in_the_place_of_a_profile_must_be_one(word: str) -> None:
    with pytest.raises(UsageError, match='profile "warp" does not exist'):
        Side.parse(word, EIGHT, "default")


def test_a_scenario_is_spelled_as_show_spells_it_or_word_by_word() -> None:
    wanted = CompareScenario(
        mode=Mode.READ_WRITE,
        protocol=Protocol.SIMPLE,
        tier=Tier.MEDIUM,
        scale=100,
        clients=4,
        profile="tuned",
    )
    assert parse_scenario("read-write/simple/medium-100/c4/tuned") == wanted
    words = {"mode": "read-write", "protocol": "simple", "scale": "medium=100"}
    assert parse_scenario(None, clients=4, profile="tuned", **words) == wanted  # type: ignore[arg-type]
    assert parse_scenario("read-write/*/medium").protocol is Protocol.PREPARED
    assert parse_scenario(None) == CompareScenario()


@pytest.mark.parametrize(
    ("scenario", "message"),
    [
        ("fly", 'mode "fly" does not exist'),
        ("read-only/telepathy", 'protocol "telepathy" does not exist'),
        ("read-only/simple/huge", '"huge" is not a scale'),
        ("read-only/simple/small/many", '"many" is not a number of clients'),
        ("read-only/simple/small/c0", '"c0" is not a number of clients'),
        ("read-only/simple/small/c4/warp", 'profile "warp" does not exist'),
        ("a/b/c/d/e/f", "is not a scenario"),
    ],
)
def test_what_is_no_scenario_is_refused_with_what_there_is(scenario: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        parse_scenario(scenario)
    assert caught.value.hint


def test_a_scenario_is_not_given_twice() -> None:
    with pytest.raises(UsageError, match="given twice"):
        parse_scenario("read-only///c8", clients=4)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("30min", 1800), ("1h30min", 5400), ("1.5 h", 5400), ("0", 0)],
)
def test_times_have_units(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "min", "-3s", "3 fortnights", "1h 30"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a duration"):
        parse_duration(text)


def test_shares_are_numbers_or_per_cent() -> None:
    assert parse_share("1%") == parse_share("0.01") == 0.01
    assert parse_share("99.9 %") == pytest.approx(0.999)
    for text in ("0", "1", "100%", "-1%", "5", "x", "", "nan"):
        with pytest.raises(UsageError, match="is not a share"):
            parse_share(text)


def installed(prefix: Path) -> Build:
    (prefix / "bin").mkdir(parents=True)
    (prefix / "bin" / "postgres").write_text("elephant")
    one = build("18.6", prefix=prefix)
    (prefix / BUILD_JSON).write_text(canonical_json(one.facts()))
    return Build.load(prefix)


def test_a_double_is_the_same_files_elsewhere_under_another_identity_while_it_is_used(
    tmp_path: Path,
) -> None:
    original = installed(tmp_path / "store" / "18.6")
    paths = Paths(cache=tmp_path / "cache", project=tmp_path)
    with aa_copy(original, 1, paths) as double:
        assert double.prefix != original.prefix
        assert double.program("postgres").read_text() == "elephant"
        assert Build.load(double.prefix) == double
        assert {double.digest, double.identifier}.isdisjoint({original.digest, original.identifier})
        with (
            pytest.raises(BusyError, match="with itself"),
            aa_copy(original, 1, paths),
        ):
            pass
    assert not double.prefix.exists()
    with aa_copy(original, 1, paths) as again, aa_copy(original, 2, paths) as other:
        assert again == double
        assert other.digest != double.digest


class _Session(FakeSession):
    """Sides named alike in their first letter are the same server."""

    def build_all(self, targets: list[Target], jobs: int | None) -> dict[Target, Build]:
        return {one: build(one.ref, digest=one.ref[0]) for one in targets}

    def pgbench_build(self, *, with_server: bool = False) -> Build:
        return build("18.1")


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    return _Session(paths=Paths(cache=tmp_path / "cache", project=tmp_path))


def plan_of(session: Any, *words: str, aa: bool = False) -> Any:
    sides = [Side.parse(word, EIGHT, "default") for word in words]
    with ExitStack() as copies:
        return plan_comparison(
            session,
            sides,
            CompareScenario(),
            metric=LATENCY,
            budget=1.0,
            copies=copies if aa else None,
        )


def test_two_names_of_the_same_server_are_told_apart_only_on_purpose(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="are the same server") as caught:
        plan_of(session, "16.1", "16.2").require_different()
    assert "--aa" in caught.value.hint
    profiles = plan_of(session, "16.1/default", "16.1/tuned")
    assert [one.label for one in profiles.sides] == ["16.1 bs8 default", "16.1 bs8 tuned"]
    assert profiles.preset == "compare"


def test_what_is_compared_with_itself_is_blind_and_belongs_to_the_ledger(
    session: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = installed(tmp_path / "store" / "18.6")
    monkeypatch.setattr(
        session, "build_all", lambda targets, jobs: dict.fromkeys(targets, real), raising=False
    )
    itself = plan_of(session, "18", "18", aa=True)
    assert itself.preset == "ledger"
    assert [one.label for one in itself.sides] == ["18.6 bs8", "18.6 bs8 (copy)"]
    assert len({one.key for one in itself.sides}) == 2
    beside = plan_of(session, "18/default", "18/tuned", "18/tuned", aa=True)
    assert beside.preset == "compare"


def test_a_question_that_this_machine_cannot_answer_says_why(session: Any) -> None:
    with pytest.raises(NotApplicableError) as caught:
        cells_of(session, CompareScenario(clients=100_000), ["default"])
    assert "100000 clients" in caught.value.detail
    assert isinstance(session.machine, Machine)


def test_a_scenario_and_options_together_say_what_the_other_leaves_open() -> None:
    asked = parse_scenario("read-write//small", clients=4, profile="tuned")
    assert (asked.mode, asked.tier, asked.clients) == (Mode.READ_WRITE, Tier.SMALL, 4)
    assert asked.profile == "tuned"
