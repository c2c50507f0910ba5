"""The matrix that a workflow spreads over runners."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from base.build import Variant
from base.errors import UsageError, VariantError
from landspeed.cli.main import cli
from landspeed.farm import matrix
from landspeed.session.target import parse_targets


def names(refs, *variants):
    return [str(target) for target in parse_targets(refs, *map(Variant.parse, variants))]


def test_every_ref_comes_in_every_variant():
    variants = ("bs2", "bs2-wal16", "bs8", "bs8-clang-O3")
    wanted = [f"{ref}:{variant}" for ref in ("13", "18") for variant in variants]
    assert names(["13", "18"], *variants) == wanted


def test_a_ref_that_names_its_variant_comes_in_that_alone():
    assert names(["13", "18:bs4"], "bs2", "bs8") == ["13:bs2", "13:bs8", "18:bs4"]


def test_what_was_built_elsewhere_is_not_built_on_runners():
    done = CliRunner().invoke(cli, ["plan", "--matrix", "@debian15"])
    assert isinstance(done.exception, UsageError)
    assert done.exception.message == '"@debian15" was built elsewhere'


@pytest.fixture
def _project(tmp_path, monkeypatch):
    (tmp_path / "asv.conf.json").write_text("{}")
    (tmp_path / "landspeed.toml").write_text('[sources]\norder = ["tarball"]\n')
    monkeypatch.setenv("LANDSPEED_PROJECT", str(tmp_path))
    monkeypatch.setenv("LANDSPEED_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("_project")
def test_options_that_are_repeated_make_every_combination():
    options = ("--wal-blocksize=16", "--compiler=gcc", "--compiler=clang", "--flags=O2")
    done = CliRunner().invoke(cli, ["plan", "--matrix", "13.16", *options, "--flags=native-O3"])
    assert [row["variant"] for row in json.loads(done.stdout)["include"]] == [
        *("bs8-wal16", "bs8-wal16-O3-native"),
        *("bs8-wal16-clang", "bs8-wal16-clang-O3-native"),
    ]


@pytest.mark.usefixtures("_project")
def test_a_matrix_has_as_many_rows_as_github_takes_and_says_where_the_rest_begins(monkeypatch):
    monkeypatch.setattr(matrix, "MOST_JOBS", 3)
    options = ("--compiler=gcc", "--compiler=clang")
    done = CliRunner().invoke(cli, ["plan", "--matrix", "13.16", "17.11", *options])
    rows = json.loads(done.stdout)["include"]
    assert [row["identifier"] for row in rows] == ["13.16-bs8", "13.16-bs8-clang", "17.11-bs8"]
    assert "the first 3 of 4 builds" in done.stderr
    assert "from 17.11:bs8-clang on" in done.stderr


@pytest.mark.usefixtures("_project")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["18", "--blocksize=3"], "invalid block size: 3 kB"),
        (["18", "--flags=fast"], '"fast" are not flags of a build variant'),
        (["9.4", "18", "--flags=lto"], "PostgreSQL 9.4.26 cannot be built as bs8-lto"),
    ],
)
def test_what_cannot_be_built_is_refused_before_any_runner_tries(arguments, message):
    done = CliRunner().invoke(cli, ["plan", "--matrix", *arguments])
    assert isinstance(done.exception, VariantError)
    assert done.exception.message == message


@pytest.mark.usefixtures("_project")
def test_the_matrix_is_one_line_of_json_that_include_takes():
    done = CliRunner().invoke(cli, ["plan", "--matrix", "13.16", "18.6:bs4", "--blocksize", "2"])
    assert done.exit_code == 0, done.exception
    assert done.stdout.count("\n") == 1
    assert json.loads(done.stdout) == {
        "include": [
            {"ref": "13.16", "variant": "bs2", "identifier": "13.16-bs2"},
            {"ref": "18.6", "variant": "bs4", "identifier": "18.6-bs4"},
        ]
    }
