"""The measuring lock: who may measure beside whom, and which file it is."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

import pytest

from base.errors import BusyError
from base.files import locked
from benchmarks.machine import lock
from benchmarks.machine.lock import measuring


@pytest.fixture(autouse=True)
def own_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A measuring lock that no other test holds: other workers measure beside this one."""
    own = tmp_path / "measure.lock"
    monkeypatch.setenv("LANDSPEED_MEASURE_LOCK", str(own))
    return own


def test_counts_may_run_beside_each_other_but_a_timed_run_has_the_machine_alone() -> None:
    with ExitStack() as held:
        for _ in range(2):
            held.enter_context(measuring(counting=True))
        with pytest.raises(BusyError, match="another landspeed is measuring"):
            held.enter_context(measuring())
    with measuring(), pytest.raises(BusyError) as caught, measuring(counting=True):
        pass
    assert str(os.getpid()) in str(caught.value)


def test_the_tests_do_not_ask_who_else_measures_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_lock: Path
) -> None:
    monkeypatch.setattr(lock, "_LOCK", tmp_path / "the machine's")
    with locked(tmp_path / "the machine's", wait=False, busy="it is held"):
        with measuring():
            assert own_lock.exists()
        monkeypatch.delenv("LANDSPEED_MEASURE_LOCK")
        with ExitStack() as held, pytest.raises(BusyError):
            held.enter_context(measuring())
