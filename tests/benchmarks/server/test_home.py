"""The directories of a home."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from base.paths import Paths
from benchmarks.server.home import ServerHome


@pytest.fixture
def roots() -> Iterator[list[Path]]:
    """Directories that servers can reach, with names of other lengths."""
    made = [Path(tempfile.mkdtemp(prefix=text, dir="/var/tmp")) for text in ("a", "a" * 9)]
    for root in made:
        root.chmod(0o755)
    yield made
    for root in made:
        shutil.rmtree(root)


def test_the_paths_of_runs_are_as_long_in_every_home(roots: list[Path]) -> None:
    homes = [ServerHome.open(Paths(project=root, cache=root), root) for root in roots]
    assert len({len(str(home.root)) for home in homes}) == 2
    for home in homes:
        with home.run_directory() as run, home.run_directory() as other:
            assert (len(str(run.path)), len(str(other.path))) == (80, 80)
            assert run.sockets == run.path / "s"
            assert run.path != other.path


def test_a_home_with_a_long_name_has_runs_all_the_same(roots: list[Path]) -> None:
    long = roots[0] / ("x" * 100)
    home = ServerHome.open(Paths(project=long, cache=long), long)
    with home.run_directory() as run:
        assert len(run.path.name) == 8


def test_a_place_for_data_is_named_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LANDSPEED_DATA", "data")
    # programs of a server are started in another directory
    assert Paths(cache=tmp_path, project=tmp_path).server_root == tmp_path / "data"
