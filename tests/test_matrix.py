"""The matrix that a workflow spreads over runners."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from base.errors import UsageError, VariantError
from landspeed.cli import cli
from landspeed.matrix import matrix_targets


def names(refs, blocksizes=(), wal_blocksizes=()):
    return [str(target) for target in matrix_targets(refs, blocksizes, wal_blocksizes)]


def test_every_ref_comes_in_every_size():
    assert names(["13", "18"], (2, 8), (8, 16)) == [
        *("13:bs2", "13:bs2-wal16", "13:bs8", "13:bs8-wal16"),
        *("18:bs2", "18:bs2-wal16", "18:bs8", "18:bs8-wal16"),
    ]


def test_a_ref_that_names_its_variant_comes_in_that_alone():
    assert names(["13", "18:bs4"], (2, 8)) == ["13:bs2", "13:bs8", "18:bs4"]


def test_a_size_that_cannot_be_is_refused():
    with pytest.raises(VariantError):
        matrix_targets(["18"], (3,), ())


def test_what_was_built_elsewhere_is_not_built_on_runners():
    with pytest.raises(UsageError, match='"@debian15" was built elsewhere'):
        matrix_targets(["@debian15"], (), ())


def test_the_matrix_is_one_line_of_json_that_include_takes(tmp_path, monkeypatch):
    (tmp_path / "asv.conf.json").write_text("{}")
    (tmp_path / "landspeed.toml").write_text('[sources]\norder = ["tarball"]\n')
    monkeypatch.setenv("LANDSPEED_PROJECT", str(tmp_path))
    monkeypatch.setenv("LANDSPEED_CACHE", str(tmp_path / "cache"))
    done = CliRunner().invoke(cli, ["matrix", "13.16", "18.6:bs4", "--blocksize", "2"])
    assert done.exit_code == 0, done.exception
    assert done.stdout.count("\n") == 1
    assert json.loads(done.stdout) == {
        "include": [
            {"ref": "13.16", "variant": "bs2", "identifier": "13.16-bs2"},
            {"ref": "18.6", "variant": "bs4", "identifier": "18.6-bs4"},
        ]
    }
