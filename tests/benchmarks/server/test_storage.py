"""Where data lies that is not on the disk: found, said what would bring it, and given back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from base.errors import StorageError
from benchmarks.server import storage as storage_
from benchmarks.server.storage import STORAGES


@pytest.fixture
def shared_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that stands for /dev/shm, on a file system that says it is a tmpfs."""
    place = tmp_path / "shm"
    place.mkdir()
    mounts = tmp_path / "mounts"
    mounts.write_text(f"disk / ext4 rw 0 0\nshm {place} tmpfs rw 0 0\n")
    monkeypatch.setattr(storage_, "_MEMORY", place)
    monkeypatch.setattr(storage_, "_MOUNTS", mounts)
    return place


def pretend(directory: Path, monkeypatch: pytest.MonkeyPatch, **programs: str) -> Path:
    """Programs that log their words, and do what their text says, as the only ones there are."""
    bin_ = directory / "bin"
    bin_.mkdir()
    for name, does in programs.items():
        path = bin_ / name.replace("_", ".")
        path.write_text(f'#!/bin/sh\necho "$(basename $0) $@" >> {directory}/log\n{does}\n')
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin_}:/usr/bin:/bin")
    return directory / "log"


def test_memory_is_a_directory_of_ours_in_the_tmpfs(shared_memory: Path, tmp_path: Path) -> None:
    home, memory = tmp_path / "home", STORAGES["tmpfs"]
    assert memory.reason(home) is None
    root = memory.open(home)
    assert root.parent == shared_memory
    assert root != STORAGES["tmpfs"].open(tmp_path / "another")
    (root / "templates").mkdir(parents=True)
    memory.close(home)
    assert not root.exists()


def test_without_a_tmpfs_there_is_no_memory_to_store_in(
    shared_memory: Path, tmp_path: Path
) -> None:
    (tmp_path / "mounts").write_text("disk / ext4 rw 0 0\n")
    assert "is not a tmpfs" in (STORAGES["tmpfs"].reason(tmp_path / "home") or "")


def test_a_file_system_that_cannot_be_made_says_which_package_brings_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    reason = STORAGES["xfs"].reason(tmp_path / "home")
    assert reason == 'mkfs.xfs is not installed: "apt-get install xfsprogs" brings it'


def test_without_root_no_file_system_is_mounted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(tmp_path, monkeypatch, mkfs_xfs="", mount="")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "only root" in (STORAGES["xfs"].reason(tmp_path / "home") or "")


@pytest.mark.parametrize("name", ["home", "a home", "a\thome", r"a\home"])
def test_a_file_system_is_made_in_a_file_mounted_and_given_back(
    shared_memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    home = tmp_path / name
    root = STORAGES["ext4-writeback"].root(home)
    # see proc_pid_mounts(5)
    spelled = str(root).replace("\\", r"\134").replace(" ", r"\040").replace("\t", r"\011")
    mounted = f"printf '%s\\n' 'loop {spelled} ext4 rw 0 0' >> {tmp_path}/mounts"
    gone = f"echo > {tmp_path}/mounts"
    log = pretend(tmp_path, monkeypatch, mkfs_ext4="", mount=mounted, umount=gone)
    for _ in range(2):
        assert STORAGES["ext4-writeback"].open(home) == root
    image = root.with_name("ext4-writeback.img")
    assert log.read_text().splitlines() == [
        f"mkfs.ext4 -q -F {image}",
        f"mount -o loop,noatime,data=writeback {image} {root}",
    ]
    assert image.stat().st_blocks == 0
    STORAGES["ext4-writeback"].close(home)
    assert not image.exists()
    assert log.read_text().endswith(f"umount {root}\n")


def test_a_mount_that_fails_is_told_with_what_it_said(
    shared_memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(tmp_path, monkeypatch, mkfs_ext4="", mount="echo not permitted >&2; exit 32")
    with pytest.raises(StorageError, match="could not mount") as caught:
        STORAGES["ext4"].open(tmp_path / "home")
    assert "not permitted" in caught.value.detail
