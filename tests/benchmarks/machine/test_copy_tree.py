"""Copies that are made whole again at the price of what changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.machine import copy_tree
from benchmarks.machine.copy_tree import (
    clone_tree,
    drop_cached,
    keep_cached,
    make_readable,
    tree_bytes,
)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    root = tmp_path / "source"
    (root / "base" / "1").mkdir(parents=True)
    (root / "empty").mkdir(mode=0o700)
    (root / "base" / "1" / "big").write_bytes(os.urandom(3_000_000))
    (root / "base" / "1" / "none").write_bytes(b"")
    (root / "link").symlink_to("nowhere")
    (root / "program").write_text("#!/bin/sh\n")
    (root / "program").chmod(0o750)
    return root


def content(root: Path) -> dict[str, tuple[int, int, bytes]]:
    found = {}
    for path in root.rglob("*"):
        name = path.relative_to(root).as_posix()
        if path.is_symlink():
            found[name] = (0, 0, bytes(path.readlink()))
        else:
            data = path.read_bytes() if path.is_file() else b""
            found[name] = (path.stat().st_mode, path.stat().st_mtime_ns, data)
    return found


def test_a_clone_is_the_same(source: Path, tmp_path: Path) -> None:
    clone_tree(source, tmp_path / "copy")
    assert content(tmp_path / "copy") == content(source)


@pytest.mark.parametrize("forged", [False, True])
def test_what_a_link_in_a_clone_leads_to_is_left_alone(
    source: Path, tmp_path: Path, forged: bool
) -> None:
    copy, ours = tmp_path / "copy", tmp_path / "ours"
    clone_tree(source, copy)
    ours.write_text("ours")
    ours.chmod(0o600)
    planted = copy / "base" / "1" / "none"
    planted.unlink()
    planted.symlink_to(ours)
    if forged:  # it looks like the file that was there
        (source / "base" / "1" / "none").write_bytes(b"x" * planted.lstat().st_size)
        times = planted.lstat().st_mtime_ns
        os.utime(source / "base" / "1" / "none", ns=(times, times))
    clone_tree(source, copy)
    assert content(copy) == content(source)
    assert (ours.read_text(), ours.stat().st_mode & 0o777) == ("ours", 0o600)


def test_a_pipe_in_a_clone_is_replaced(source: Path, tmp_path: Path) -> None:
    clone_tree(source, tmp_path / "copy")
    planted = tmp_path / "copy" / "base" / "1" / "none"
    planted.unlink()
    os.mkfifo(planted)
    clone_tree(source, tmp_path / "copy")
    assert content(tmp_path / "copy") == content(source)


def test_whatever_was_done_to_a_clone_is_undone_by_cloning_again(
    source: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    clone_tree(source, copy)
    with (copy / "base" / "1" / "big").open("r+b") as stream:
        stream.write(b"changed in place")
    (copy / "base" / "1" / "none").write_bytes(b"longer")
    (copy / "program").unlink()
    (copy / "new").mkdir()
    (copy / "new" / "file").write_text("x")
    (copy / "base" / "file").write_text("x")
    (copy / "empty").rmdir()
    clone_tree(source, copy)
    assert content(copy) == content(source)


def test_cloning_again_writes_only_what_changed(source: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    clone_tree(source, copy)
    before = (copy / "program").stat().st_ctime_ns
    (copy / "base" / "1" / "big").write_bytes(b"short")
    clone_tree(source, copy)
    assert (copy / "program").stat().st_ctime_ns == before
    assert content(copy) == content(source)


def test_where_the_kernel_cannot_copy_a_file_its_bytes_are_copied(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(copy_tree.os, "copy_file_range", refuse)
    clone_tree(source, tmp_path / "copy")
    assert content(tmp_path / "copy") == content(source)


def test_a_private_tree_is_made_readable_and_nothing_becomes_a_program(source: Path) -> None:
    make_readable(source)
    assert (source / "program").stat().st_mode & 0o777 == 0o755
    assert (source / "base" / "1" / "big").stat().st_mode & 0o555 == 0o444
    assert (source / "empty").stat().st_mode & 0o777 == 0o755


def test_asking_for_the_page_cache_changes_nothing(source: Path) -> None:
    before = content(source)
    keep_cached(source)
    drop_cached(source)
    assert content(source) == before


def test_the_size_of_a_tree_that_is_not_there_is_0(source: Path) -> None:
    assert tree_bytes(source) >= 3_000_000
    assert tree_bytes(source / "nothing") == 0
