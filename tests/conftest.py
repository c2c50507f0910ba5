"""Fixtures for tests on a real PostgreSQL: Builds from the shared cache, projects of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from base.build import Build, Variant
from base.files import remove_tree
from benchmarks.machine.machine import Limits
from landspeed.session.session import Session
from tests.kits.builds.docker_kit import PretendedDocker
from tests.kits.made_up.stand_ins import AMPLE
from tests.kits.places import SCRATCH

CHECKOUT = Path(__file__).resolve().parents[1]
DATA = SCRATCH / f"landspeed-test-{os.getpid()}"
"""Data directories of this worker's projects.

When a campaign ends, it removes the data in memory of its data directory. Only the measuring lock
keeps it from removing another landspeed's, and the tests have a lock of their own.
"""
_PACKAGES = ("base", "benchmarks", "builders", "landspeed")

# for tmp_path, and for the temporary files of the programs that tests start
os.environ |= {"PYTEST_DEBUG_TEMPROOT": str(SCRATCH), "TMPDIR": str(SCRATCH)}
# as landspeed's own main has it
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# No test asserts on wall time: where others use the machine, anything may take long.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# make fuzz: 52 times the mutated files of test_fuzz.py, 104,000 in all
settings.register_profile("fuzz", settings.get_profile("busy"), max_examples=5200)
settings.load_profile("busy")

# Started in the background of a shell we would ignore SIGINT, and so would all that we start.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Beside each other (``pytest -n 3``) a module's tests with servers share a worker."""
    if item.get_closest_marker("xdist_group"):
        return
    for marker, group in (("docker", "docker"), ("postgres", item.path.stem), ("browser", "site")):
        if item.get_closest_marker(marker):
            item.add_marker(pytest.mark.xdist_group(group))
            return


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long begins first; what is short then fills the end of all workers."""
    items.sort(key=lambda item: not any(map(item.get_closest_marker, ("postgres", "docker"))))


@pytest.fixture(scope="session", autouse=True)
def nothing_shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A measuring lock for each worker, and DATA: others may measure beside us."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LANDSPEED_MEASURE_LOCK", str(tmp_path_factory.getbasetemp() / "measure.lock"))
        # the power does not fail in a test, and a tenth of the time would be waiting for the disk
        patch.setattr(os, "fsync", lambda _: None)
        yield
    remove_tree(DATA)


@pytest.fixture(autouse=True)
def nothing_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged file is told once in a process: the next test's may have the same path."""
    monkeypatch.setattr("base.files._warned", set())


@pytest.fixture(scope="session")
def newest_build() -> Build:
    """The newest stable release at 8 kB, compiled now if the cache does not have it."""
    session = Session()
    return session.build(session.builder.newest_stable(), Variant())


@pytest.fixture(scope="session")
def pgbench_build(newest_build: Build) -> Build:
    """The Build whose pgbench is the one client."""
    return newest_build


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A cache that is not there yet."""
    return tmp_path / "cache"


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PretendedDocker:
    """A machine whose docker pretends."""
    made = PretendedDocker.at(tmp_path / "docker")
    monkeypatch.setenv("PATH", f"{made.root}/bin:{os.environ['PATH']}")
    return made


@pytest.fixture
def ample(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with room for everything, whatever this one has."""
    monkeypatch.setattr(Limits, "detect", classmethod(lambda *_: AMPLE))


def make_project(directory: Path) -> Path:
    """A project with this checkout's configuration, code and studies, and results of its own."""
    directory.mkdir(parents=True, exist_ok=True)
    for name in ("asv.conf.json", "landspeed.toml"):
        (directory / name).write_text((CHECKOUT / name).read_text())
    for name in (*_PACKAGES, "studies"):
        (directory / name).symlink_to(CHECKOUT / name)
    return directory


def environment_of(project: Path) -> dict[str, str]:
    """The caller's environment, with *project* as the project and a home for asv's own file."""
    own = {"LANDSPEED_PROJECT": str(project), "LANDSPEED_DATA": str(DATA), "HOME": str(project)}
    return os.environ | own


def run_in(
    project: Path, argv: Sequence[str], *, check: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run *argv* in *project*; what it said is shown when it fails."""
    done = subprocess.run(
        argv, cwd=project, env=environment_of(project), capture_output=True, text=True, check=False
    )
    if check and done.returncode != 0:
        pytest.fail(f"{' '.join(argv)} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done


def program(name: str) -> str:
    """A program of the environment the tests run in: landspeed, asv."""
    return str(Path(sys.executable).parent / name)
