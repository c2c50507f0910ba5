"""Control groups that limit memory: made-up trees, and a kernel that fills what is made in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from base.errors import NotApplicableError, UsageError
from benchmarks.machine import cgroup
from benchmarks.machine.cgroup import Cgroup, memory_hierarchies
from benchmarks.machine.machine import Machine, spell_size
from benchmarks.workloads.scenario import Tier, tier_scales
from tests.benchmarks.machine.test_machine import tree

V1, V2 = "4:memory:/own\n0::/\n", "0::/slice/scope\n"
FILES_V1 = ("cgroup.procs", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes")
FILES_V2 = ("cgroup.procs", "memory.max", "memory.swap.max")
MIB = 1 << 20


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A kernel that puts *files* into each group made below one of *levels*; else it has none."""

    def fills(files: tuple[str, ...], *levels: Path) -> None:
        mkdir, rmdir = Path.mkdir, Path.rmdir

        def make(path: Path, *arguments: object, **how: object) -> None:
            mkdir(path, *arguments, **how)  # type: ignore[arg-type]
            if path.parent in levels:
                for name in files:
                    (path / name).write_text("")

        def remove(path: Path) -> None:
            for file in path.iterdir():
                file.unlink()
            rmdir(path)

        monkeypatch.setattr(cgroup.Path, "mkdir", make)
        monkeypatch.setattr(cgroup.Path, "rmdir", remove)

    return fills


def test_with_version_1_the_group_is_below_our_own(
    tmp_path: Path, kernel: Callable[..., None]
) -> None:
    own = tmp_path / "sys/fs/cgroup/memory/own"
    tree(tmp_path, {"proc/self/cgroup": V1, "sys/fs/cgroup/memory/own/cgroup.procs": ""})
    kernel(FILES_V1, own)
    group = Cgroup.make("x", 256 * MIB, tmp_path)
    assert group.path == own / "landspeed-x"
    assert (group.path / "memory.limit_in_bytes").read_text() == str(256 * MIB)
    assert (group.path / "memory.memsw.limit_in_bytes").read_text() == str(256 * MIB)
    group.take(77)
    assert (group.path / "cgroup.procs").read_text() == "77"
    group.remove()
    assert not group.path.exists()
    group.remove()


def test_with_version_2_it_is_below_the_nearest_group_that_gives_memory_to_its_children(
    tmp_path: Path, kernel: Callable[..., None]
) -> None:
    slice_ = tmp_path / "sys/fs/cgroup/slice"
    tree(tmp_path, {"proc/self/cgroup": V2, "sys/fs/cgroup/slice/scope/cgroup.procs": ""})
    kernel(FILES_V2, slice_)
    group = Cgroup.make("x", 256 * MIB, tmp_path)
    assert group.path == slice_ / "landspeed-x"
    assert (group.path / "memory.max").read_text() == str(256 * MIB)
    assert (group.path / "memory.swap.max").read_text() == "0"
    assert [path.name for path in (slice_ / "scope").iterdir()] == ["cgroup.procs"]


def test_a_kernel_without_a_limit_for_swap_will_do(
    tmp_path: Path, kernel: Callable[..., None]
) -> None:
    own = tmp_path / "sys/fs/cgroup/memory/own"
    tree(tmp_path, {"proc/self/cgroup": V1, "sys/fs/cgroup/memory/own/cgroup.procs": ""})
    kernel(FILES_V1[:2], own)
    assert Cgroup.make("x", MIB, tmp_path).path.exists()


def test_where_no_group_can_be_made_it_says_what_would_bring_one(
    tmp_path: Path, kernel: Callable[..., None]
) -> None:
    tree(tmp_path, {"proc/self/cgroup": V2, "sys/fs/cgroup/slice/scope/cgroup.procs": ""})
    kernel(())
    with pytest.raises(NotApplicableError) as caught:
        Cgroup.make("x", MIB, tmp_path)
    assert "slice/scope: No such file or directory (memory.max)" in caught.value.detail
    assert "systemd-run" in caught.value.hint
    assert list((tmp_path / "sys/fs/cgroup").rglob("landspeed-*")) == []


def test_a_process_in_no_group_that_limits_memory_says_so(tmp_path: Path) -> None:
    tree(tmp_path, {"proc/self/cgroup": "3:cpu:/x\n"})
    assert list(memory_hierarchies(tmp_path)) == []
    with pytest.raises(NotApplicableError, match="cannot be limited"):
        Cgroup.make("x", MIB, tmp_path)


@pytest.mark.parametrize("name", ["memory.events", "memory.oom_control"])
def test_what_the_kernel_killed_is_counted(tmp_path: Path, name: str) -> None:
    assert Cgroup(path=tmp_path).kills == 0
    (tmp_path / name).write_text("oom 3\noom_kill 2\n")
    assert Cgroup(path=tmp_path).kills == 2


def test_a_machine_with_a_limit_is_another_one_by_its_name_and_its_memory() -> None:
    here = Machine.detect("elephant")
    limited = here.limited(256 * MIB)
    assert limited.name == "elephant-256m"
    assert limited.memory_bytes == limited.facts()["memory_limit"] == 256 * MIB
    assert limited.epoch == here.epoch
    assert "memory_limit" not in here.facts()


def test_a_limit_above_the_machines_memory_is_refused() -> None:
    here = Machine.detect("elephant")
    with pytest.raises(UsageError, match="limits nothing"):
        here.limited(here.memory_bytes)


@pytest.mark.parametrize(
    ("size", "text"), [(1 << 30, "1g"), (768 << 20, "768m"), (5 << 10, "5k"), (1000, "1000")]
)
def test_a_limit_is_spelled_as_people_write_it(size: int, text: str) -> None:
    assert spell_size(size) == text


def test_tiers_are_sized_by_the_limit_itself_and_not_by_what_a_machine_has_bought() -> None:
    spans = {"smallest_shared_buffers": 128 * MIB, "largest_shared_buffers": 128 * MIB}
    limited = tier_scales(memory_bytes=256 * MIB, **spans, limited=True)
    assert limited[Tier.LARGE] * 15_000_000 == pytest.approx(512 * MIB, rel=0.1)
    assert tier_scales(memory_bytes=256 * MIB, **spans)[Tier.LARGE] > 3 * limited[Tier.LARGE]
