"""What tests on real clusters share: a cache of their own, and looking at processes."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from base.paths import Paths
from benchmarks.workloads.scenario import Cell, Mode, Protocol, Scenario, Tier
from tests.kits.places import SCRATCH

SCALE = 1

Found = TypeVar("Found")


@contextmanager
def server_paths(root: Path = SCRATCH) -> Iterator[Paths]:
    """Paths of an empty cache below *root* that servers can enter; removed afterwards."""
    cache = Path(tempfile.mkdtemp(prefix="ls-test-", dir=root))
    cache.chmod(0o755)
    try:
        yield Paths(cache=cache, project=cache)
    finally:
        shutil.rmtree(cache, ignore_errors=True)


def cell(mode: Mode = Mode.READ_ONLY, *, clients: int = 2, scale: int = SCALE) -> Cell:
    """A Cell small enough for a test."""
    scenario = Scenario(mode=mode, protocol=Protocol.PREPARED, tier=Tier.SMALL, scale=scale)
    return Cell(scenario=scenario, clients=clients, profile="default")


def processes_in(root: Path) -> dict[int, str]:
    """The command lines of all processes that work in a directory below *root*, by id."""
    found = {}
    for directory in Path("/proc").iterdir():
        try:
            if (directory / "cwd").resolve(strict=True).is_relative_to(root):
                words = (directory / "cmdline").read_bytes().split(b"\0")
                found[int(directory.name)] = b" ".join(words).decode()
        except OSError:
            continue
    return found


def postmaster_below(root: Path) -> int | None:
    """The id of a server that is ready on data below *root*; None if there is none."""
    for path in root.glob("data/templates/*/*/postmaster.pid"):
        lines = path.read_text().split()
        if lines and (Path("/proc") / lines[0]).exists():
            return int(lines[0])
    return None


def wait_for(look: Callable[[], Found], seconds: float = 60.0) -> Found:
    """What *look* finds once it finds something; an AssertionError if it never does."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError(f"waited {seconds} s in vain")


def is_root() -> bool:
    """Whether tests that need root can run."""
    return os.geteuid() == 0
