"""The data of the page *Guards*: from the profiles, the program and the source, or the reason."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from base.errors import RefError
from landspeed.profiling.guards import GuardedFile, GuardMap
from landspeed.site import guards
from landspeed.site.guards import guard_files, guard_pages

HASH, SORT = "src/backend/executor/nodeHash.c", "src/backend/utils/sort/tuplesort.c"


def made_up() -> GuardMap:
    return GuardMap(
        label="18.6 bs8",
        files=(
            GuardedFile(
                path=HASH,
                functions=("ExecEndHash", "ExecHash", "ExecReScanHash"),
                executed=("ExecEndHash", "ExecHash"),
                reachable=("ExecHash", "ExecReScanHash"),
            ),
            GuardedFile(path=SORT, functions=("sort",), executed=(), reachable=()),
        ),
        workloads={"ExecEndHash": ("hash-join",), "ExecHash": ("hash-join", "distinct")},
    )


def test_each_directory_has_a_file_with_its_functions_and_who_executes_them() -> None:
    files = guard_files(made_up(), ["distinct", "hash-join", "sort-text"], "k")
    index = json.loads(files["guards/index.json"])
    assert index["server"] == "18.6 bs8"
    first, second = index["files"]
    assert (first["functions"], first["executed"], first["reachable"], first["reached"]) == (
        *(3, 2),
        *(2, 1),
    )
    assert (second["path"], second["executed"]) == (SORT, 0)
    assert json.loads(files[first["data"]])[HASH] == [
        ["ExecEndHash", False, 1, [1]],
        ["ExecHash", True, 2, [1, 0]],
        ["ExecReScanHash", True, 0, []],
    ]


def test_the_files_are_made_again_only_if_counts_or_server_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    server = {"identifier": "one"}

    def map_of(*_: Any) -> GuardMap:
        made.append(server["identifier"])
        return made_up()

    monkeypatch.setattr(
        guards,
        "guarded_build",
        lambda *_: (SimpleNamespace(**server), {"hash-join": "r1", "distinct": "r2"}),
    )
    monkeypatch.setattr(guards, "guard_map", map_of)
    session: Any = SimpleNamespace(
        paths=SimpleNamespace(results=tmp_path), records=None, builder=None
    )
    files = guard_pages(session)
    for name, text in files.items():
        (tmp_path / "pages" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "pages" / name).write_text(text)
    assert guard_pages(session) == files
    server["identifier"] = "other"
    assert guard_pages(session) != files
    server["identifier"] = "one"
    (tmp_path / "pages" / "guards" / "index.json").write_text("{damaged")
    assert guard_pages(session) == files
    assert made == ["one", "other", "one"]


def test_without_the_server_that_was_counted_the_page_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: Any) -> Any:
        raise RefError("there is no server to look at", detail="18.6-bs8-x was removed.")

    monkeypatch.setattr(guards, "guarded_build", gone)
    session: Any = SimpleNamespace(
        paths=SimpleNamespace(results=tmp_path), records=None, builder=None
    )
    (text,) = guard_pages(session).values()
    reason = "There is no server to look at. 18.6-bs8-x was removed."
    assert json.loads(text) == {"reason": reason}
