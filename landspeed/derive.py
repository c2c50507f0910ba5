"""Derive asv's result files from the raw records, through asv's own classes.

The records are the truth; everything written here can be made again from them,
and what ``asv run`` wrote in its own way is brought into the same form.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
from asv.benchmarks import Benchmarks
from asv.config import Config
from asv.environment import get_env_name
from asv.machine import Machine as AsvMachine
from asv.results import Results, get_filename
from asv.runner import BenchmarkResult

from base.build import Origin
from base.files import canonical_json, digest_text, locked, remove_tree, write_atomic
from benchmarks.asv_names import metrics_of
from benchmarks.twins import Twin
from landspeed.asv_benchmarks import Asked, Params, benchmark_entries, benchmark_entry, in_order
from landspeed.points import Dot, dots

CommitOf = Callable[[Mapping[str, Any]], tuple[str, int] | None]
"""From a record's origin (release, commit, tree, date) to the commit asv draws it at.

The answer is the full hash and its date in ms since 1970, or None where asv has no such commit.
"""

_STAMPS = ".derived.json.stamps"
_SCRATCH = ".asv-derive-"
# Part of every stamp: raise it when the same records are to give other files.
_FORM = 2


@dataclass(frozen=True, kw_only=True)
class AsvLayout:
    """An AsvLayout says where asv's results are and how its environments are called.

    ``python`` and ``tool`` are those of asv.conf.json: both are in the files' names.
    """

    results: Path
    python: str = "3"
    tool: str = "pgbuild"

    @classmethod
    def of(cls, config: Mapping[str, Any], results: Path) -> AsvLayout:
        """The layout that asv's *config* asks for, with its results below *results*."""
        pythons = config.get("pythons") or [cls.python]
        return cls(
            results=results, python=pythons[0], tool=config.get("environment_type") or cls.tool
        )

    def environment(self, requirements: Mapping[str, str]) -> str:
        """asv's name for the environment of these requirements."""
        return str(get_env_name(self.tool, self.python, dict(requirements), {}))


@dataclass(frozen=True, kw_only=True)
class Unplaced:
    """An Unplaced is an origin whose records asv cannot draw: it has no commit for them."""

    origin: Origin
    records: int

    def __str__(self) -> str:
        return f"{self.origin.name}: {self.records} records, no commit on a drawn branch"


@dataclass(frozen=True, kw_only=True)
class Derived:
    """A Derived is what one derivation did; ``points`` are dots, ``superseded`` left-out ones."""

    points: int
    superseded: int
    written: int
    kept: int
    removed: int
    unplaced: tuple[Unplaced, ...]


@dataclass(frozen=True, kw_only=True)
class _File:
    """One of asv's result files: a machine, a commit and a variant, with its dots by question."""

    machine: Mapping[str, str]
    commit: str
    date: int
    requirements: Mapping[str, str]
    asked: dict[Asked, dict[Params, Dot]] = field(default_factory=dict)

    def stamp(self) -> str:
        """A digest over everything that goes into the file."""
        dots_ = [
            [*asked, list(params), dot.digest, dot.epoch, dot.last_id, dot.count]
            for asked, cells in in_order(self.asked)
            for params, dot in sorted(cells.items())
        ]
        facts = [_FORM, dict(self.machine), self.commit, self.date, dict(self.requirements), dots_]
        return digest_text(canonical_json(facts))


def derive(
    table: pa.Table, layout: AsvLayout, commit_of: CommitOf, twins: Iterable[Twin] = ()
) -> Derived:
    """Make the files below ``layout.results`` say what *table* (RecordStore.table()) says.

    *twins* are drawn with the samples of what they are twins of. Files that would not change
    are left alone, files of dots that are gone are removed. One derivation at a time.
    """
    layout.results.mkdir(parents=True, exist_ok=True)
    with locked(layout.results / ".derive.lock"):
        for left_over in layout.results.parent.glob(f"{_SCRATCH}*"):
            remove_tree(left_over)
        collection = dots(table, twins)
        files, unplaced = _files(collection.dots, collection.machines, layout, commit_of)
        with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=layout.results.parent) as scratch:
            written = _write_files(files, layout, Path(scratch))
            _write_frame(files.values(), layout, Path(scratch))
        removed = _remove_stale(files, layout)
        _save_stamps(files, layout)
    return Derived(
        points=sum(len(cells) for file in files.values() for cells in file.asked.values()),
        superseded=collection.superseded,
        written=written,
        kept=len(files) - written,
        removed=removed,
        unplaced=unplaced,
    )


def _files(
    found: Iterable[Dot],
    machines: Mapping[str, Mapping[str, str]],
    layout: AsvLayout,
    commit_of: CommitOf,
) -> tuple[dict[Path, _File], tuple[Unplaced, ...]]:
    files: dict[tuple[str, ...], _File] = {}
    places: dict[Origin, tuple[str, int] | None] = {}
    unplaced: dict[Origin, int] = {}
    for dot in found:
        if dot.origin not in places:
            places[dot.origin] = commit_of(asdict(dot.origin))
        place = places[dot.origin]
        if place is None:
            unplaced[dot.origin] = unplaced.get(dot.origin, 0) + dot.count
            continue
        file = files.setdefault(
            (dot.machine, place[0], dot.variant.name),
            _File(
                machine=machines[dot.machine],
                commit=place[0],
                date=place[1],
                requirements=dot.variant.axes(),
            ),
        )
        # should two origins be drawn at one commit, the newest dot stands: it comes last
        file.asked.setdefault((dot.mode, dot.buffers), {})[dot.params] = dot
    left = sorted(unplaced.items(), key=lambda item: item[0].name)
    return (
        _named(files.values(), layout),
        tuple(Unplaced(origin=origin, records=count) for origin, count in left),
    )


def _named(files: Iterable[_File], layout: AsvLayout) -> dict[Path, _File]:
    # asv names a file by eight digits of the commit (asv.results.get_filename); among tens of
    # thousands of commits two may share them: those are named in full, which asv reads as well
    same: dict[tuple[str, str], list[_File]] = {}
    for file in files:
        path = get_filename(
            file.machine["machine"], file.commit, layout.environment(file.requirements)
        )
        same.setdefault((path, file.commit[:8]), []).append(file)
    return {
        layout.results
        / (path if len(some) == 1 else path.replace(f"/{digits}", f"/{file.commit}")): file
        for (path, digits), some in same.items()
        for file in some
    }


def _write_files(files: Mapping[Path, _File], layout: AsvLayout, scratch: Path) -> int:
    stamps = _load_stamps(layout)
    written = 0
    for path, file in files.items():
        name = path.relative_to(layout.results).as_posix()
        if path.is_file() and stamps.get(name) == [file.stamp(), *_seen(path)]:
            continue
        _results(file, layout).save(str(scratch))
        (saved,) = (scratch / file.machine["machine"]).glob("*.json")
        _move(saved, path)
        written += 1
    return written


def _results(file: _File, layout: AsvLayout) -> Results:
    params = {**file.machine, "python": layout.python, **file.requirements}
    environment = layout.environment(file.requirements)
    results = Results(
        params, dict(file.requirements), file.commit, file.date, layout.python, environment, {}
    )
    for (mode, buffers), cells in in_order(file.asked):
        for metric in metrics_of(buffers):
            entry = benchmark_entry(mode, metric, cells)
            samples = [_samples(dot, metric.column) for dot in _in_order(entry, cells)]
            last = max(dot.last_time for dot in cells.values())
            results.add_result(
                entry,
                BenchmarkResult(
                    result=[None if one is None else True for one in samples],
                    samples=samples,
                    number=[None if one is None else 1 for one in samples],
                    errcode=0,
                    stderr="",
                    profile=None,
                ),
                started_at=datetime.fromisoformat(last).astimezone(UTC),
                record_samples=True,
            )
    return results


def _in_order(entry: Mapping[str, Any], cells: Mapping[Params, Dot]) -> Iterator[Dot | None]:
    spelled = {params.spelled(): dot for params, dot in cells.items()}
    return (spelled.get(one) for one in product(*entry["params"]))


def _samples(dot: Dot | None, column: str) -> list[float] | None:
    if dot is None:
        return None
    values = [value for value in dot.samples[column] if value is not None]
    return values or None


def _write_frame(files: Iterable[_File], layout: AsvLayout, scratch: Path) -> None:
    machines: dict[str, Mapping[str, str]] = {}
    all_asked: dict[Asked, set[Params]] = {}
    for file in files:
        machines[file.machine["machine"]] = file.machine
        for asked, cells in file.asked.items():
            all_asked.setdefault(asked, set()).update(cells)
    for name, fields in machines.items():
        machine = AsvMachine()
        machine.__dict__.update(fields)
        machine.save(str(scratch))
        _move(scratch / name / "machine.json", layout.results / name / "machine.json")
    config = Config()
    config.results_dir = str(scratch)
    Benchmarks(config, benchmark_entries(all_asked)).save()
    _move(scratch / "benchmarks.json", layout.results / "benchmarks.json")


def _move(source: Path, target: Path) -> None:
    data = source.read_bytes()
    source.unlink()
    if not target.is_file() or target.read_bytes() != data:
        write_atomic(target, data)


def _remove_stale(files: Mapping[Path, _File], layout: AsvLayout) -> int:
    removed = 0
    for path in layout.results.glob("*/*.json"):
        if path.name != "machine.json" and path not in files:
            path.unlink()
            removed += 1
    return removed


def _seen(path: Path) -> list[int]:
    # a result file that asv run wrote over has another size or time
    status = path.stat()
    return [status.st_size, status.st_mtime_ns]


def _load_stamps(layout: AsvLayout) -> dict[str, list[Any]]:
    try:
        return dict(json.loads((layout.results / _STAMPS).read_text()))
    except (OSError, ValueError):
        return {}


def _save_stamps(files: Mapping[Path, _File], layout: AsvLayout) -> None:
    stamps = {
        path.relative_to(layout.results).as_posix(): [file.stamp(), *_seen(path)]
        for path, file in files.items()
    }
    write_atomic(layout.results / _STAMPS, canonical_json(stamps))
