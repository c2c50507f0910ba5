"""Derive asv's result files from the raw records, through asv's own classes.

Everything written here can be derived from the records again. Result files that ``asv run``
wrote are replaced.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import islice, product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from asv.benchmarks import Benchmarks
from asv.config import Config
from asv.environment import get_env_name
from asv.machine import Machine as AsvMachine
from asv.results import Results, get_filename
from asv.runner import BenchmarkResult

from base.build import Origin, Variant
from base.errors import LandspeedError
from base.files import (
    canonical_json,
    digest_text,
    remove_tree,
    storage_errors,
    write_atomic,
)
from benchmarks.records.columns import VARIANT_COLUMNS, variant_of
from benchmarks.workloads.metrics import benchmark_name, metrics_of
from builders.builder import cores
from landspeed.results.arrays import Groups, Ints, both, codes, lasts
from landspeed.results.params import (
    Asked,
    Params,
    asv_cell,
    benchmark_entry,
    in_order,
)
from landspeed.results.points import CELL, Dot, Dots, params_of
from landspeed.site.asv_incremental.file_stat import MACHINE_FILE, file_stat, result_files

CommitOf = Callable[[Origin], tuple[str, int] | None]
"""Maps an origin to the commit where asv draws it.

The result is the full hash and its date in ms since 1970, or None where asv has no such commit.
"""

# Stands where asv puts eight digits of the commit in a file's name.
_ANY = "--------"
_STAMPS = ".derived.json.stamps"
_SCRATCH = ".asv-derive-"
# So many files are worth a process more.
_SHARE = 100
# Part of every stamp: increment it when the same records must give other files.
_FORM = 5


@dataclass(frozen=True, kw_only=True)
class AsvLayout:
    """Where asv's results are, and how its environments are named.

    ``python`` and ``tool`` come from asv.conf.json; both are part of the files' names.
    """

    results: Path
    python: str = "3"
    tool: str = "pgbuild"

    @classmethod
    def of(cls, config: Mapping[str, Any], results: Path) -> AsvLayout:
        """Return the layout of asv's *config*, with results below *results*."""
        pythons, tool = config.get("pythons"), config.get("environment_type")
        return cls(results=results, python=(pythons or [cls.python])[0], tool=tool or cls.tool)

    def environment(self, requirements: Mapping[str, str]) -> str:
        """Return asv's name for the environment of *requirements*."""
        return str(get_env_name(self.tool, self.python, dict(requirements), {}))


@dataclass(frozen=True, kw_only=True)
class _File:
    """One of asv's result files; ``stamp`` is a digest of everything that goes into it."""

    machine: Mapping[str, str]
    commit: str
    date: int
    variant: Variant
    dots: Ints
    stamp: str


def derive(found: Dots, layout: AsvLayout, commit_of: CommitOf) -> tuple[int, list[str]]:
    """Make the files below ``layout.results`` match the dots *found*.

    Files that would not change are left alone; files of dots that are gone are removed. One process
    does this at a time. Return the number of dots that are drawn, and a line for each origin that
    asv cannot draw because it has no commit for it.
    """
    with storage_errors("write asv's results", layout.results):
        layout.results.mkdir(parents=True, exist_ok=True)
        for left_over in layout.results.parent.glob(f"{_SCRATCH}*"):
            remove_tree(left_over)
        known = {origin: commit_of(origin) for origin in set(found.origins)}
        positions = [known[origin] for origin in found.origins]
        there = result_files(layout.results)
        drawn = np.flatnonzero(np.array([p is not None for p in positions], bool)[found.whose])
        files = _named(_files(found, drawn, positions), layout)
        stamps = _load_stamps(layout)
        # A result file that asv run has overwritten has another size or time.
        written = [
            name
            for name, file in files.items()
            if stamps.get(name) != [file.stamp, *there.get(name, ())]
        ]
        _write_on_all_cores(found, {name: files[name] for name in written}, layout)
        with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=layout.results.parent) as scratch:
            _write_frame(found, drawn, files.values(), layout, Path(scratch))
        there |= {name: file_stat(layout.results / name) for name in written}
        for name in there.keys() - files.keys():
            (layout.results / name).unlink()
        stamps = {name: [file.stamp, *there[name]] for name, file in files.items()}
        write_atomic(layout.results / _STAMPS, canonical_json(stamps), durable=False)
    return len(drawn), _unplaced(found, positions)


def _files(
    found: Dots, drawn: Ints, positions: Sequence[tuple[str, int] | None]
) -> Iterator[_File]:
    """Yield the result files of the dots *drawn*."""
    commits: dict[str, int] = {}
    numbers = [commits.setdefault(at[0], len(commits)) if at else -1 for at in positions]
    commit = np.array(numbers, dtype=np.int64)[found.whose[drawn]]
    where = codes(found.heads, ["machine", *VARIANT_COLUMNS])[found.rows[drawn]]
    groups = Groups(both(where, commit))
    marks = groups.sums(found.marks[found.rows[drawn]])
    named = found.heads.select(["machine", *VARIANT_COLUMNS])
    heads = named.take(found.rows[drawn[groups.lasts]]).to_pylist()
    for number, head in enumerate(heads):
        part = drawn[groups.rows(number)]
        at = positions[found.whose[part[0]]]
        if at is not None:
            machine, variant = found.machines[head["machine"]], variant_of(head)
            facts = [_FORM, machine, *at, variant.axes(), int(marks[number])]
            yield _File(
                machine=machine,
                commit=at[0],
                date=at[1],
                variant=variant,
                dots=part,
                stamp=digest_text(canonical_json(facts)),
            )


def _unplaced(found: Dots, positions: Sequence[tuple[str, int] | None]) -> list[str]:
    counts = np.bincount(
        found.whose, weights=found.groups.sizes[found.rows], minlength=len(positions)
    )
    each = zip(found.origins, positions, counts, strict=True)
    return [
        f"{origin.name}: {count:.0f} records, no commit on a drawn branch"
        for origin, at, count in sorted(each, key=lambda one: one[0].name)
        if at is None and count
    ]


def _named(files: Iterable[_File], layout: AsvLayout) -> dict[str, _File]:
    # asv names a file by eight digits of the commit (asv.results.get_filename). Among tens of
    # thousands of commits two may share them; those are named in full, which asv reads as well.
    same: dict[tuple[str, str], list[_File]] = {}
    name_of = cache(
        lambda machine, variant: get_filename(machine, _ANY, layout.environment(variant.axes()))
    )
    for file in files:
        name = name_of(file.machine["machine"], file.variant)
        same.setdefault((name, file.commit[:8]), []).append(file)
    return {
        name.replace(f"/{_ANY}", f"/{digits if len(some) == 1 else file.commit}", 1): file
        for (name, digits), some in same.items()
        for file in some
    }


def _write_on_all_cores(found: Dots, files: Mapping[str, _File], layout: AsvLayout) -> None:
    """Write the *files*, in several processes if there are many."""
    count = max(1, min(cores(), len(files) // _SHARE))
    own, *shares = (dict(islice(files.items(), at, None, count)) for at in range(count))
    fork = get_context("fork")  # a copy of the process need not read the records
    helpers = [fork.Process(target=_help, args=(found, share, layout)) for share in shares]
    for helper in helpers:
        helper.start()
    try:
        _write_files(found, own, layout)
    finally:
        for helper in helpers:
            helper.join()
    for helper, share in zip(helpers, shares, strict=True):
        if helper.exitcode != 0:  # Where it failed, this process says why.
            _write_files(found, share, layout)


def _help(found: Dots, files: Mapping[str, _File], layout: AsvLayout) -> None:
    try:
        _write_files(found, files, layout)
    except (LandspeedError, OSError, KeyboardInterrupt):
        sys.exit(1)


def _write_files(found: Dots, files: Mapping[str, _File], layout: AsvLayout) -> None:
    with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=layout.results.parent) as scratch:
        for name, file in files.items():
            _results(found, file, layout).save(scratch)
            (saved,) = Path(scratch, file.machine["machine"]).glob("*.json")
            _move(saved, layout.results / name)


def _results(found: Dots, file: _File, layout: AsvLayout) -> Results:
    axes, python = file.variant.axes(), layout.python
    params, environment = {**file.machine, "python": python, **axes}, layout.environment(axes)
    results = Results(params, axes, file.commit, file.date, python, environment, {})
    asked: dict[Asked, dict[Params, Dot]] = {}
    for dot in found.some(file.dots):
        # If two origins are drawn at one commit, the newest dot, which comes last, wins.
        group, cell = asv_cell(dot.mode, dot.params)
        asked.setdefault((group, dot.buffers), {})[cell] = dot
    for (group, buffers), cells in in_order(asked):
        last = max(dot.last_time for dot in cells.values())
        spelled = {params.spelled(): dot for params, dot in cells.items()}
        for metric in metrics_of(buffers):
            entry = benchmark_entry(group, metric, cells)
            dots = [spelled.get(one) for one in product(*entry["params"])]
            samples = [(dot.samples[metric.column] or None) if dot else None for dot in dots]
            if not any(samples):
                continue  # such as the blocks of workloads, which are not counted
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


def _write_frame(
    found: Dots, drawn: Ints, files: Iterable[_File], layout: AsvLayout, scratch: Path
) -> None:
    machines = {file.machine["machine"]: file.machine for file in files}
    rows = found.rows[drawn]
    each = rows[lasts(codes(found.heads, CELL)[rows])]
    kinds = codes(found.heads, ["mode", "buffers"])
    numbers = {
        name: np.bincount(kinds[rows], ~np.isnan(found.groups.medians(values))[rows])
        for name, values in found.values.items()
    }
    all_asked: dict[Asked, set[Params]] = {}
    has_number: set[str] = set()
    for row, head in zip(each, found.heads.take(each).to_pylist(), strict=True):
        group, params = asv_cell(head["mode"], params_of(head))
        all_asked.setdefault((group, head["buffers"]), set()).add(params)
        has_number.update(
            benchmark_name(group, metric)
            for metric in metrics_of(head["buffers"])
            if numbers[metric.column][kinds[row]]
        )
    for name, fields in machines.items():
        machine = AsvMachine()
        vars(machine).update(fields)
        machine.save(str(scratch))
        _move(scratch / name / MACHINE_FILE, layout.results / name / MACHINE_FILE)
    config = Config()
    config.results_dir = str(scratch)
    entries = [
        benchmark_entry(group, metric, cells)
        for (group, buffers), cells in in_order(all_asked)
        for metric in metrics_of(buffers)
        if benchmark_name(group, metric) in has_number
    ]
    Benchmarks(config, entries).save()
    _move(scratch / "benchmarks.json", layout.results / "benchmarks.json")


def _move(source: Path, target: Path) -> None:
    data = source.read_bytes()
    source.unlink()
    if not target.is_file() or target.read_bytes() != data:
        write_atomic(target, data, durable=False)


def _load_stamps(layout: AsvLayout) -> dict[str, list[Any]]:
    try:
        return dict(json.loads((layout.results / _STAMPS).read_text()))
    except (OSError, ValueError):
        return {}
