"""A study's file says what it asks, and a mistake in one is told where it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from base.errors import LandspeedError, UsageError
from benchmarks.workloads.custom_scripts import Script
from landspeed.study.schema import Axes, client_counts, load_study, study_names
from tests.kits.made_up.study_kit import CHECKOUT

GOOD = """
question = "Q"
title = "T of it"
shape = "S"
[quick]
about = "minutes"
seconds = 1
repeats = 1
[regular]
about = "hours"
seconds = 1
repeats = 1
[full]
about = "days"
seconds = 1
repeats = 1
[[part]]
name = "one"
refs = ["18"]
modes = ["read-only"]
[[table]]
title = "T"
rows = ["ref"]
"""


def refused(directory: Path, text: str) -> UsageError:
    """The error of a study whose file is *text*."""
    (directory / "studies").mkdir()
    (directory / "studies/mine.toml").write_text(text)
    with pytest.raises(UsageError) as caught:
        load_study(directory, "mine")
    return caught.value


@pytest.mark.parametrize("name", study_names(CHECKOUT))
def test_every_study_that_ships_is_valid_and_answers_with_a_plot_and_a_table(name: str) -> None:
    study = load_study(CHECKOUT, name)
    assert study.plot
    assert study.table
    for table in study.script:
        assert isinstance(table.read(CHECKOUT / "studies"), Script)


def test_a_study_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(UsageError, match='study "speed" does not exist') as caught:
        load_study(CHECKOUT, "speed")
    assert "archaeology" in caught.value.hint
    assert "page-size" in caught.value.hint


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('["read-only"]', '["read-mostly"]', 'unknown mode or script "read-mostly"'),
        ('refs = ["18"]', 'reefs = ["18"]', "part[1].reefs: unknown key"),
        ('refs = ["18"]', "refs = 18", "part[1].refs: "),
        ('refs = ["18"]', 'refs = ["18:"]', '"18:" is not a target'),
        ('refs = ["18"]', 'refs = ["18"]\nvariants = ["bs3"]', "part[1].variants[1]: invalid"),
        ('refs = ["18"]', 'refs = ["18"]\nprofiles = ["fast"]', 'profile "fast" does not exist'),
        ('refs = ["18"]', 'refs = ["18"]\nprofiles = ["sieve-*"]', 'profile "sieve-*" does not'),
        ('refs = ["18"]', 'refs = ["18"]\nclients = ["many"]', "is neither a number of clients"),
        ('refs = ["18"]', 'refs = ["18"]\nstorages = ["floppy"]', 'unknown storage "floppy"'),
        ('refs = ["18"]', 'refs = ["18"]\ntopologies = ["ring"]', 'topology "ring"'),
        ('refs = ["18"]', 'refs = ["18"]\npoolers = ["odyssey"]', 'pooler "odyssey"'),
        ('rows = ["ref"]', 'rows = ["colour"]', 'rows[1]: unknown axis "colour"'),
        (
            'rows = ["ref"]',
            'rows = ["ref"]\npart = "two"',
            '"two", which does not exist',
        ),
        ('rows = ["ref"]', 'rows = ["ref"]\nmetric = "speed"', 'unknown metric "speed"'),
        ('title = "T of it"', "", "title: missing"),
        ("repeats = 1\n[regular]", "repeats = 0\n[regular]", "quick.repeats: "),
    ],
)
def test_a_mistake_is_reported_with_its_place(
    tmp_path: Path, old: str, new: str, told: str
) -> None:
    assert GOOD.count(old) == 1
    error = refused(tmp_path, GOOD.replace(old, new))
    assert error.message.endswith('studies/mine.toml" is not a valid study')
    assert told in error.detail
    assert str(error).startswith("error:  ")


def test_invalid_toml_is_reported_with_its_line(tmp_path: Path) -> None:
    error = refused(tmp_path, GOOD + "[[part\n")
    assert "is not valid TOML" in error.message
    assert "line" in error.detail


def test_a_script_that_cannot_be_read_or_named_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="could not read script"):
        Script.read("mine", [(tmp_path / "none.sql", 1)], load=None, writes=True, size=1.0)
    with pytest.raises(UsageError, match="is not the name of a script"):
        Script.read("My_script", [], load=None, writes=True, size=1.0)


def test_a_script_is_known_by_all_that_it_does() -> None:
    one = Script(name="mine", parts=(("SELECT 1;", 1),))
    others = [
        Script(name="mine", parts=(("SELECT 2;", 1),)),
        Script(name="mine", parts=(("SELECT 1;", 2),)),
        Script(name="mine", parts=(("SELECT 1;", 1),), load="SELECT 1"),
        Script(name="mine", parts=(("SELECT 1;", 1),), distribute="SELECT 1"),
    ]
    assert one.value.startswith("mine-")
    assert len({one.value, *(other.value for other in others)}) == 5


def test_shares_of_the_cores_are_clients_each_once() -> None:
    assert client_counts(("25%", "50%", "150%", 8), 4) == (1, 2, 6, 8)
    assert client_counts(("25%", "50%", "100%", 8), 2) == (1, 2, 8)


@pytest.mark.parametrize(
    ("axis", "word", "message", "hint"),
    [
        ("refs", "18:bs3", "invalid block size: 3 kB", "Choose a block size"),
        ("refs", "18:", '"18:" is not a target', "Write REF or REF:VARIANT"),
        ("profiles", "nosuch", 'profile "nosuch" does not exist', "There are: default"),
        ("storages", "nvme", 'storages[2]: unknown storage "nvme"; known are disk, ', ""),
    ],
)
def test_a_word_of_the_command_line_that_is_none_is_told_by_its_own_error(
    axis: str, word: str, message: str, hint: str
) -> None:
    good = {"refs": "18", "profiles": "tuned", "storages": "disk"}[axis]
    assert Axes.asked(**{axis: (good,)}).given() == {axis: (good,)}
    with pytest.raises(LandspeedError) as caught:
        Axes.asked(**{axis: (good, word)})
    assert caught.value.message.startswith(message)
    found = caught.value.hint or ""
    assert found.startswith(hint) if hint else found == ""
