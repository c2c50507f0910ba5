"""A process and all below it, as /proc shows them."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from benchmarks.machine import processes
from benchmarks.machine.processes import cpu_seconds, end_orphan
from tests.kits.servers.cluster_kit import wait_for


def test_the_cpu_time_of_a_servers_wrapper_is_that_of_the_server_while_it_runs():
    """Only the grandchild takes time; bubblewrap stands above a server like that."""
    nested = "(while :; do :; done) & wait"
    wrapper = subprocess.Popen(["sh", "-c", f"({nested}) & wait"], start_new_session=True)
    try:
        wait_for(lambda: cpu_seconds(wrapper.pid) > 0.2)
    finally:
        os.killpg(wrapper.pid, signal.SIGKILL)
        wrapper.wait()
    assert cpu_seconds(wrapper.pid) == 0.0


def test_an_orphan_that_ends_by_itself_just_then_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    (tmp_path / "postmaster.pid").write_text(f"{ended.pid}\n")
    looks = iter([True, False, False])
    monkeypatch.setattr(processes, "_works_in", lambda *_: next(looks))
    end_orphan(tmp_path)
    assert list(looks) == []
