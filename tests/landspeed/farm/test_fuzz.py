"""Mutated files of all kinds: none raises anything but an error of ours, none stops the rest.

The tests make 2,000 of them; ``make fuzz`` makes more than 100,000 (the profile "fuzz").
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from base.build import BUILD_JSON
from base.errors import LandspeedError
from base.files import canonical_json, digest_text, digest_tree
from benchmarks.records.identical_builds import IdenticalBuild
from benchmarks.records.segments import pack_segment, write_segment
from benchmarks.records.store import RecordStore
from benchmarks.workloads.scenario import preset_named
from builders.source import Position
from builders.store import Store
from landspeed.bisect.note import BisectionNote
from landspeed.changepoints.changepoint import Confirmation, decided
from landspeed.changepoints.detect import detect
from landspeed.farm.acceptance import Assigned
from landspeed.farm.build_archive import register_archive, write_archive
from landspeed.farm.coverage import Coverage
from landspeed.farm.merge import is_result, merge_results, result_files
from landspeed.farm.tar import pack_files, unpack_files
from landspeed.results.points import Dots
from landspeed.site.pages.data import PageInputs, page_files
from tests.kits.builds.buildkit import a_build
from tests.kits.made_up.results_kit import one_of_each
from tests.kits.made_up.synthetic import Point, record

pytestmark = pytest.mark.slow

BATCH = 20
"""Files that are mutated for one example: they are merged together."""

ODD = (None, True, 0, -1, 2**70, 1e308, 0.5, "", "..", "../../x", "-x", "a/b", "\x00", "\ud800")
ODD += ("2026-99-99", "9" * 5000, [], {}, [[]], {"a": None}, ["x"] * 3)  # type: ignore[assignment]


def examples(files: int) -> Callable[[Any], Any]:
    """As many examples as *files* need; 60 times as many in the profile "fuzz"."""
    return settings(max_examples=max(1, files * settings().max_examples // 100 // BATCH))


@pytest.fixture(scope="module")
def valid() -> Iterator[Path]:
    """One file of each kind."""
    with scratch() as directory:
        one_of_each(directory)
        yield directory


@pytest.fixture(scope="module")
def archive(valid: Path) -> Iterator[Path]:
    """All of them in an archive."""
    with scratch() as directory:
        pack_files(directory / "results.tar.gz", valid, result_files(valid))
        yield directory / "results.tar.gz"


class scratch(tempfile.TemporaryDirectory[str]):
    """A directory that is removed afterwards."""

    def __enter__(self) -> Any:
        return Path(super().__enter__())


def cut(chance: Random, content: bytes) -> bytes:
    """*content* with some bytes replaced, inserted and removed."""
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(content) + 1)
        new = chance.randbytes(chance.randrange(6))
        content = content[:at] + new + content[at + chance.randrange(40) :]
    return content


def changed(chance: Random, facts: Any) -> Any:
    """*facts* with a value at any depth replaced or removed."""
    whole = inner = json.loads(json.dumps(facts))
    while True:
        key = chance.choice(list(inner if isinstance(inner, dict) else range(len(inner))))
        if isinstance(inner[key], dict | list) and inner[key] and chance.random() < 0.8:
            inner = inner[key]
            continue
        if chance.random() < 0.2:
            del inner[key]
        else:
            inner[key] = chance.choice(ODD)
        return whole


def place_of(origin: Any) -> Position:
    """All in the order of their dates."""
    return Position(branch="master", position=int(digest_text(origin.date)[:6], 16))


def require_rest(theirs: Path, valid: Path) -> None:
    """Merge what is at *theirs* with a valid note and all that is valid; everything is read."""
    (note,) = (name for name in result_files(valid) if "twins" in name)
    (theirs / note).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(valid / note, theirs / note)
    with scratch() as ours:
        merge_results(theirs, ours, accept=Assigned().require)
        assert (ours / note).exists()
        shutil.copytree(valid, ours, dirs_exist_ok=True)
        if not mutated_stayed_out(ours, valid):
            read_all(ours)


def mutated_stayed_out(ours: Path, valid: Path) -> bool:
    """Whether *ours* has nothing but what is *valid*."""
    return list(result_files(ours)) == list(result_files(valid))


def read_all(results: Path) -> None:
    """Read *results* as the commands do."""
    store = RecordStore(results / "records")
    table = store.table()
    assert table.num_rows >= 3
    assert len(list(store.records(table["id"].to_pylist()))) == table.num_rows
    Coverage.of(store, preset_named("quick"))
    notes = store.confirmations.read(Confirmation)
    found = Dots(table, store.identical_builds.read(IdenticalBuild))
    scan = detect(found, place_of, statuses=decided(notes))
    inputs = PageInputs(
        steps=scan.changepoints,
        confirmations=notes,
        bisections=store.bisections.read(BisectionNote),
        commits={},
    )
    assert page_files(found, place_of, inputs)


SEEDS = st.integers(0, 2**64).map(Random)


@examples(500)
@given(chance=SEEDS)
def test_mutated_archives_stop_nothing(valid: Path, archive: Path, chance: Random) -> None:
    packed = archive.read_bytes()
    tar = gzip.decompress(packed)
    for _ in range(BATCH):
        with scratch() as directory:
            file = directory / "results.tar"
            # of the packed bytes a check finds nearly all, of the tar's own none
            file.write_bytes(cut(chance, packed if chance.random() < 0.2 else tar))
            with suppress(LandspeedError):
                unpack_files(file, directory / "theirs", is_result)
            if chance.random() < 0.1:
                require_rest(directory / "theirs", valid)


@examples(300)
@given(chance=SEEDS)
def test_mutated_segments_stop_nothing(valid: Path, chance: Random) -> None:
    (name,) = (name for name in result_files(valid) if "segments" in name)
    with scratch() as theirs:
        (theirs / name).parent.mkdir(parents=True)
        for _ in range(BATCH):
            content = cut(chance, (valid / name).read_bytes())
            digest = hashlib.sha256(content).hexdigest()[:32]
            (theirs / name).with_name(f"{digest}.parquet").write_bytes(content)
        require_rest(theirs, valid)


@examples(100)
@given(chance=SEEDS)
def test_segments_of_mutated_records_stop_nothing(valid: Path, chance: Random) -> None:
    with scratch() as theirs:
        directory = theirs / "records" / "segments" / "elephant" / "2026-01"
        for number in range(BATCH):
            facts = changed(chance, record(Point(), number=99 + number))
            with suppress(Exception):  # only a Segment that can be written is of interest
                write_segment(*pack_segment(directory, {facts["id"]: json.dumps(facts)}))
        require_rest(theirs, valid)


@examples(500)
@given(chance=SEEDS)
def test_mutated_notes_stop_nothing(valid: Path, chance: Random) -> None:
    kinds = ("twins", "confirmations", "bisections", "failures")
    with scratch() as theirs:
        for _ in range(BATCH):
            kind = chance.choice(kinds)
            (path,) = (valid / "records" / kind).iterdir()
            text = json.dumps(changed(chance, json.loads(path.read_text())))
            target = theirs / "records" / kind / f"{digest_text(text)[:32]}.json"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        require_rest(theirs, valid)


@examples(300)
@given(chance=SEEDS)
def test_mutated_journals_stop_nothing(valid: Path, chance: Random) -> None:
    (path,) = (valid / "bisect").iterdir()
    with scratch() as theirs:
        (theirs / "bisect").mkdir()
        for number in range(BATCH):
            text = json.dumps(changed(chance, json.loads(path.read_text())))
            name = f"a-b-12345678-{number}.json" if number else path.name
            (theirs / "bisect" / name).write_text(text)
        require_rest(theirs, valid)


@pytest.fixture(scope="module")
def build_archive() -> Iterator[Path]:
    """The archive of a small build."""
    with scratch() as directory:
        made = a_build("18.4-bs8-0123456789ab")
        build = replace(made, prefix=directory / made.identifier)
        (build.prefix / "bin").mkdir(parents=True)
        build.program("postgres").write_text("#!/bin/sh\n")
        build = replace(build, digest=digest_tree(build.prefix))
        (build.prefix / BUILD_JSON).write_text(canonical_json(build.facts()))
        write_archive(directory / "build.tar", build)
        yield directory / "build.tar"


def require_registered_or_refused(content: bytes) -> None:
    """The archive of a build registers it whole or leaves nothing in the store."""
    with scratch() as directory:
        file, store = directory / "build.tar", Store(root=directory / "store", limit=1 << 40)
        file.write_bytes(content)
        try:
            build = register_archive(file, store)
        except LandspeedError:
            assert store.all() == []
        else:
            assert store.find(build.identifier) == build
        assert {path.name for path in directory.iterdir()} <= {"build.tar", "store"}


@examples(150)
@given(chance=SEEDS)
def test_mutated_archives_of_builds_are_refused(build_archive: Path, chance: Random) -> None:
    for _ in range(BATCH):
        require_registered_or_refused(cut(chance, build_archive.read_bytes()))


@examples(150)
@given(chance=SEEDS)
def test_archives_with_mutated_descriptions_are_refused(
    build_archive: Path, chance: Random
) -> None:
    with tarfile.open(build_archive) as source:
        members = [(member, source.extractfile(member)) for member in source]
        contents = [(member.name, file.read() if file else b"") for member, file in members]
    for _ in range(BATCH):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as target:
            for name, content in contents:
                if name.endswith(BUILD_JSON):
                    content = json.dumps(changed(chance, json.loads(content))).encode()  # noqa: PLW2901
                member = tarfile.TarInfo(name)
                member.size = len(content)
                target.addfile(member, io.BytesIO(content))
        require_registered_or_refused(out.getvalue())


def test_what_is_mutated_was_valid(valid: Path, build_archive: Path) -> None:
    read_all(valid)
    require_registered_or_refused(build_archive.read_bytes())
