"""A Run gets as many processors as it has clients, and cores before their second threads."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.machine.cpu_affinity import allowed_processors, placement
from benchmarks.machine.spawn import guarded


def topology(root: Path, siblings: dict[int, str]) -> Path:
    for processor, text in siblings.items():
        directory = root / f"cpu{processor}" / "topology"
        directory.mkdir(parents=True)
        (directory / "thread_siblings_list").write_text(f"{text}\n")
    return root


@given(processors=st.sets(st.integers(0, 255), min_size=1), clients=st.integers(1, 256))
def test_there_are_as_many_as_clients_or_all_there_are(processors: set[int], clients: int) -> None:
    chosen = placement(clients, processors, Path("/nowhere"))
    assert len(set(chosen)) == len(chosen) == min(clients, len(processors))
    assert set(chosen) <= processors
    assert list(chosen) == sorted(chosen)


def test_the_lowest_processors_which_get_the_interrupts_are_taken_last(tmp_path: Path) -> None:
    assert placement(1, range(8), tmp_path) == (7,)
    assert placement(3, {0, 2, 3, 9}, tmp_path) == (2, 3, 9)


def test_each_core_gives_one_thread_before_any_gives_its_second(tmp_path: Path) -> None:
    halves = topology(tmp_path / "halves", {n: f"{n % 4},{n % 4 + 4}" for n in range(8)})
    assert placement(4, range(8), halves) == (4, 5, 6, 7)
    assert placement(5, range(8), halves) == (3, 4, 5, 6, 7)
    pairs = topology(tmp_path / "pairs", {n: f"{n // 2 * 2}-{n // 2 * 2 + 1}" for n in range(8)})
    assert placement(4, range(8), pairs) == (1, 3, 5, 7)


def test_a_program_is_kept_where_it_is_told() -> None:
    last = max(allowed_processors())
    show = ["python3", "-c", "import os; print(*os.sched_getaffinity(0))"]
    argv = guarded(show, death=signal.SIGKILL, processors=(last,))
    assert subprocess.check_output(argv, text=True).split() == [str(last)]
    free = subprocess.check_output(guarded(show, death=signal.SIGKILL), text=True).split()
    assert {int(word) for word in free} == os.sched_getaffinity(0)


def test_without_taskset_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "setpriv").symlink_to("/usr/bin/setpriv")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Exception, match="taskset is not installed"):
        guarded(["true"], death=signal.SIGKILL, processors=(0,))
