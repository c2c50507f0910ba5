"""A counted server's output: what a backend has left when it ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from base.errors import MeasureError
from benchmarks.counted.server import CountedServer

WHOLE = "part: 1\nsummary: 5\ntotals: 5\n"


@pytest.fixture
def ended() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def counted_server(counts: Path) -> CountedServer:
    return CountedServer(cluster=Mock(), run=Mock(), counts=counts, settings={})


def test_the_parts_of_a_backend_that_has_ended_are_read(tmp_path: Path, ended: int):
    for name in (f"{ended}.1", f"{ended}"):
        (tmp_path / name).write_text(WHOLE)
    assert counted_server(tmp_path).parts(ended, 2) == [WHOLE, WHOLE]


@pytest.mark.parametrize("left", [[], [WHOLE], [WHOLE, WHOLE[:10]]])
def test_nobody_waits_for_what_an_ended_backend_has_not_written(
    tmp_path: Path, ended: int, left: list[str]
):
    for number, text in enumerate(left):
        (tmp_path / f"{ended}.{number}").write_text(text)
    with pytest.raises(MeasureError, match="left no profile") as failed:
        counted_server(tmp_path).parts(ended, 2)
    assert failed.value.detail == f"{ended} ended and had not written it."
