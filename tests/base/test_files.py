"""Files that are whole or not there: writes, locks, exchanges, digests, free space."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.errors import BusyError, ClusterError, StorageError
from base.files import (
    canonical_json,
    digest_file,
    digest_text,
    digest_tree,
    exchange,
    locked,
    read_untrusted,
    remove_tree,
    require_free,
    write_atomic,
)
from tests.kits.builds.buildkit import ended, eventually, fill, forked, small_disk
from tests.kits.places import SCRATCH

json_values = st.none() | st.booleans() | st.integers() | st.text(max_size=5)


@given(st.dictionaries(st.text(max_size=5), json_values, max_size=5))
def test_equal_values_have_equal_canonical_json_whatever_their_order(value):
    backwards = dict(reversed(value.items()))
    assert canonical_json(backwards) == canonical_json(value)


def test_a_write_makes_directories_and_leaves_no_other_file(tmp_path):
    path = tmp_path / "a" / "b" / "file"
    write_atomic(path, "old")
    write_atomic(path, b"new")
    assert path.read_text() == "new"
    assert list(path.parent.iterdir()) == [path]
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_atomic(path, "old")

    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_one_clear_error_and_the_old_file_stays(tmp_path):
    disk = tmp_path / "disk"
    with small_disk(disk, kilobytes=64):
        write_atomic(disk / "file", "old")
        with pytest.raises(StorageError) as caught:
            write_atomic(disk / "file", b"x" * 200_000)
        assert "No space left on device" in caught.value.detail
        assert "Free some space" in caught.value.hint
        assert (disk / "file").read_text() == "old"
        assert [p.name for p in disk.iterdir()] == ["file"]


def test_a_lock_on_a_full_disk_is_taken_or_a_clear_error(tmp_path):
    disk = tmp_path / "disk"
    with small_disk(disk, kilobytes=64):
        (disk / "lock").touch()
        fill(disk)
        with pytest.raises(StorageError, match="could not lock"), locked(disk / "lock"):
            pass


def test_a_read_only_directory_is_one_clear_error(tmp_path):
    disk = tmp_path / "disk"
    with small_disk(disk, kilobytes=64, read_only=True):
        with pytest.raises(StorageError) as caught:
            write_atomic(disk / "file", "new")
        assert "Read-only file system" in caught.value.detail
        assert "Make it writable" in caught.value.hint
        with pytest.raises(StorageError, match="could not lock"), locked(disk / "lock"):
            pass


def test_a_file_in_the_place_of_a_directory_is_one_clear_error(tmp_path):
    (tmp_path / "cache").touch()
    for path in (tmp_path / "cache" / "lock", tmp_path / "cache" / "deeper" / "lock"):
        with pytest.raises(StorageError, match="could not lock"), locked(path):
            pass
        with pytest.raises(StorageError, match="could not write"):
            write_atomic(path, "")


def test_a_lock_held_elsewhere_is_busy_and_names_its_holder(tmp_path):
    path = tmp_path / "lock"
    with locked(path):
        with pytest.raises(BusyError) as caught, locked(path, wait=False, busy="taken"):
            pass
        assert caught.value.message == "taken"
        assert f"held by process {os.getpid()}" in caught.value.detail
    with locked(path, wait=False):
        pass


def test_shared_locks_go_together_and_keep_an_exclusive_one_out(tmp_path):
    path = tmp_path / "lock"
    with locked(path):
        pass
    with locked(path, shared=True), locked(path, shared=True):
        with pytest.raises(BusyError) as caught, locked(path, wait=False):
            pass
        assert "process" not in caught.value.detail, "who had it before does not hold it now"


def test_a_lock_is_let_go_when_its_body_fails(tmp_path):
    with pytest.raises(RuntimeError), locked(tmp_path / "lock"):
        raise RuntimeError
    with locked(tmp_path / "lock", wait=False):
        pass


def test_a_waiting_lock_comes_after_the_first(tmp_path):
    path, order, go, waiting = (tmp_path / name for name in ("lock", "order", "go", "waiting"))

    def second() -> None:
        eventually(go.exists, "the first holder")
        waiting.touch()
        with locked(path):
            order.write_text(order.read_text() + "second")

    # forked before we lock: what is forked later would hold our lock with us
    with forked(second) as pid:
        with locked(path):
            go.touch()
            eventually(waiting.exists, "the second process")
            order.write_text("first ")
        assert ended(pid) == 0
    assert order.read_text() == "first second"


def test_who_waits_for_a_lock_says_so_first_and_nobody_else_does(tmp_path):
    path, said, go = (tmp_path / name for name in ("lock", "said", "go"))
    said.touch()

    def second() -> None:
        eventually(go.exists, "the first holder")
        with locked(path, waiting=partial(said.write_text, "waiting")):
            pass

    with forked(second) as pid:
        with locked(path, waiting=partial(said.write_text, "not I")):
            assert said.read_text() == ""
            go.touch()
            eventually(said.read_text, "the second to say that it waits")
        assert ended(pid) == 0
    assert said.read_text() == "waiting"


def test_a_process_that_inherits_the_descriptor_keeps_the_lock(tmp_path):
    path, enough = tmp_path / "lock", tmp_path / "enough"
    with ExitStack() as children:
        with locked(path):
            wait = partial(eventually, enough.exists, "the word to end")
            pid = children.enter_context(forked(wait))
        with pytest.raises(BusyError), locked(path, wait=False):
            pass
        enough.touch()
        assert ended(pid) == 0
    with locked(path, wait=False):
        pass


def test_a_killed_holder_leaves_the_lock_free(tmp_path):
    path = tmp_path / "lock"

    def hold() -> None:
        with locked(path):
            (tmp_path / "held").touch()
            eventually(lambda: False, "being killed")

    with forked(hold) as pid:
        eventually((tmp_path / "held").exists, "the holder")
        with pytest.raises(BusyError), locked(path, wait=False):
            pass
        os.kill(pid, 9)
        assert ended(pid) == -9
        with locked(path, shared=True):
            with pytest.raises(BusyError) as caught, locked(path, wait=False):
                pass
            assert "process" not in caught.value.detail, "the killed one does not hold it"
        with locked(path, wait=False):
            pass


# --- directories ---------------------------------------------------------------------------


def grow(root, **files):
    root.mkdir(parents=True)
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return root


def test_an_exchange_puts_the_new_in_place_and_the_old_aside(tmp_path):
    new, old = grow(tmp_path / "new", file="new"), grow(tmp_path / "old", file="old")
    exchange(new, old)
    assert (old / "file").read_text() == "new"
    assert (new / "file").read_text() == "old"


def test_an_exchange_with_what_is_not_there_is_a_move(tmp_path):
    new = grow(tmp_path / "new", file="new")
    exchange(new, tmp_path / "old")
    assert (tmp_path / "old" / "file").read_text() == "new"
    assert not new.exists()


def test_an_exchange_that_cannot_be_changes_nothing(tmp_path):
    old = grow(tmp_path / "old", file="old")
    with pytest.raises(FileNotFoundError):
        exchange(tmp_path / "missing", old)
    assert (old / "file").read_text() == "old"


def test_a_tree_digest_is_of_names_contents_and_executability_only(tmp_path):
    one = grow(tmp_path / "one", a="1", d__b="2")
    same = grow(tmp_path / "elsewhere" / "deeper", d__b="2", a="1")
    os.utime(same / "a", (1, 1))
    (same / "a").chmod(0o600)
    assert digest_tree(one) == digest_tree(same)


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "a").write_text("2"),
        lambda root: (root / "a").rename(root / "c"),
        lambda root: (root / "a").chmod(0o755),
        lambda root: (root / "a").unlink(),
        lambda root: (root / "d" / "new").touch(),
        lambda root: (root / "link").symlink_to("a"),
    ],
    ids=["content", "name", "mode", "less", "more", "link"],
)
def test_a_tree_digest_changes_with_whatever_makes_another_server(tmp_path, change):
    root = grow(tmp_path / "root", a="1", d__b="2")
    before = digest_tree(root)
    change(root)
    assert digest_tree(root) != before


def test_a_tree_digest_sees_where_a_link_leads_and_not_what_is_there(tmp_path):
    roots = [grow(tmp_path / name, a="1", b="2") for name in ("one", "two", "three")]
    for root, target in zip(roots, ("a", "b", "a"), strict=True):
        (root / "link").symlink_to(target)
    digests = [digest_tree(root) for root in roots]
    assert digests[0] == digests[2] != digests[1]


def test_a_tree_digest_is_of_names_that_are_no_utf8_too(tmp_path):
    root = grow(tmp_path / "root", a="1")
    digests = {digest_tree(root)}
    for make in (lambda name: name.touch(), lambda name: name.symlink_to(name)):
        for raw in (b"\xff", b"\xfe"):
            make(name := root / os.fsdecode(raw))
            digests.add(digest_tree(root))
            name.unlink()
    assert len(digests) == 5


def test_a_file_and_its_text_have_one_digest(tmp_path):
    (tmp_path / "file").write_text("elephant")
    assert digest_file(tmp_path / "file") == digest_text("elephant")


def test_too_little_room_is_said_before_it_runs_out_even_of_what_is_not_there_yet(tmp_path):
    require_free(tmp_path / "not" / "yet", 1, "think")
    with pytest.raises(StorageError) as caught:
        require_free(tmp_path / "not" / "yet", 10**18, "build all of it")
    assert caught.value.message == "not enough disk space to build all of it"
    assert "1000000000.0 GB are needed" in caught.value.detail


def test_a_tree_that_was_made_unreadable_is_removed_and_nothing_that_it_links_to():
    """As a user without privileges, whom permissions stop."""
    scratch = Path(tempfile.mkdtemp(dir=SCRATCH, prefix="landspeed-remove-"))
    tree, kept = scratch / "tree", scratch / "kept"
    (tree / "closed/inner").mkdir(parents=True)
    (tree / "fixed").mkdir()
    kept.mkdir()
    for path in (tree / "closed/inner/file", tree / "fixed/file", kept / "file"):
        path.write_text("")
    (tree / "link").symlink_to(kept)
    for path in (scratch, *scratch.rglob("*")) if os.geteuid() == 0 else ():
        os.chown(path, 64123, 64123, follow_symlinks=False)
    for path, mode in (("closed/inner", 0), ("closed", 0), ("fixed", 0o555)):
        (tree / path).chmod(mode)
    child = os.fork()
    if child == 0:
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(64123)
            os.setuid(64123)
        remove_tree(tree)
        os._exit(0)
    os.waitpid(child, 0)
    assert list(scratch.rglob("*")) == [kept, kept / "file"]
    shutil.rmtree(scratch)


def test_where_measured_code_can_write_a_link_is_refused_and_a_pipe_is_empty(tmp_path):
    (tmp_path / "plain").write_text("text")
    (tmp_path / "link").symlink_to(tmp_path / "plain")
    (tmp_path / "directory").mkdir()
    os.mkfifo(tmp_path / "pipe")
    assert read_untrusted(tmp_path / "plain") == "text"
    assert read_untrusted(tmp_path / "pipe") == ""
    for name in ("link", "directory"):
        with pytest.raises(ClusterError, match="is no plain file"):
            read_untrusted(tmp_path / name)


def test_a_tree_that_is_deeper_than_recursion_and_paths_reach_is_removed(tmp_path):
    grow_deep(tmp_path / "tree", levels=1200)
    (tmp_path / "tree" / "file").touch()
    remove_tree(tmp_path / "tree")
    assert not (tmp_path / "tree").exists()


def test_a_tree_deeper_than_that_of_any_server_has_no_digest(tmp_path):
    grow_deep(tmp_path / "tree", levels=40)
    with pytest.raises(RecursionError, match="more than 32 levels deep"):
        digest_tree(tmp_path / "tree")


def grow_deep(root, *, levels):
    """Make *levels* directories in one another below *root*."""
    place = os.getcwd()  # noqa: PTH109
    root.mkdir()
    try:
        for _ in range(levels):
            os.chdir(root)
            root = "deeper" * 10
            Path(root).mkdir()
    finally:
        os.chdir(place)
