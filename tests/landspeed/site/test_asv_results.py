"""asv's result files are made from the records, by asv's own classes, and from nothing else."""

from __future__ import annotations

import errno
import json
import os
from datetime import timedelta
from hashlib import sha1
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from asv.benchmarks import Benchmarks
from asv.config import Config
from asv.results import Results, iter_results

from base.build import Origin, Variant
from base.errors import StorageError
from benchmarks.records.record import Record
from benchmarks.records.store import RecordStore
from benchmarks.workloads.catalog import choose
from benchmarks.workloads.metrics import VARIANT_NAMES
from landspeed.site import asv_results
from landspeed.site.asv_results import AsvLayout
from tests.kits.made_up.derivation import Derived, derived_from
from tests.kits.made_up.synthetic import RELEASES, START, Point, counted_record, record
from tests.kits.made_up.synthetic import records as synthetic_records
from tests.kits.made_up.synthetic_project import Project
from tests.kits.made_up.workload_counts import counts

pytestmark = pytest.mark.slow

COMMITS = {release: sha1(release.encode()).hexdigest() for release in RELEASES}


def commit_of(origin: Origin) -> tuple[str, int] | None:
    return (COMMITS[str(origin.release)], 1000) if origin.release in COMMITS else None


class Derivation:
    """Records in, asv's view of them out."""

    def __init__(self, root: Path) -> None:
        self.store = RecordStore(root / "records")
        self.layout = AsvLayout(results=root / "results" / "asv")

    def of(self, *records: dict[str, Any]) -> Derived:
        for one in records:
            self.store.add(Record.from_json(one))
        return derived_from(self.store, self.layout, commit_of)

    def files(self) -> dict[str, Path]:
        names = self.layout.results.glob("*/*-*.json")
        return {path.name: path for path in sorted(names)}

    def results(self) -> list[Results]:
        return list(iter_results(str(self.layout.results)))

    def benchmarks(self) -> Benchmarks:
        config = Config()
        config.results_dir = str(self.layout.results)
        return Benchmarks.load(config)

    def value(self, benchmark: str, *params: str) -> Any:
        """The value, statistics and samples asv has for a benchmark of its only result file."""
        (results,) = self.results()
        axes = self.benchmarks()[benchmark]["params"]
        index = 0
        for axis, param in zip(axes, params, strict=True):
            index = index * len(axis) + axis.index(param)
        return tuple(
            get(benchmark, axes)[index]
            for get in (
                results.get_result_value,
                results.get_result_stats,
                results.get_result_samples,
            )
        )


@pytest.fixture
def derivation(tmp_path: Path) -> Derivation:
    return Derivation(tmp_path)


def tree(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in root.rglob("*.json")}


def test_asv_reads_the_median_the_interval_and_every_sample(derivation: Derivation) -> None:
    runs = [record(Point(clients=4), number=number) for number in range(8)]
    derived = derivation.of(*runs)
    assert (derived.points, derived.written, derived.unplaced) == (1, 1, [])
    latencies = [run["sample"]["latency_ms"] for run in sorted(runs, key=lambda run: run["id"])]
    params = ("'prepared'", "'small-5'", "4", "'default'")
    value, stats, samples = derivation.value("read_only.track_latency", *params)
    assert value == pytest.approx(median(latencies))
    assert stats["ci_99_a"] < value < stats["ci_99_b"]
    assert stats["repeat"] == 8
    assert samples == latencies
    tps, _, _ = derivation.value("read_only.track_tps", *params)
    assert tps == pytest.approx(median(run["sample"]["tps"] for run in runs))


def test_parameters_are_the_union_over_all_records(derivation: Derivation) -> None:
    derivation.of(
        record(Point(release="13.22", clients=16, protocol="prepared")),
        record(Point(release="18.1", clients=4, protocol="simple", tier="large", scale=1000)),
        record(Point(release="18.1", clients=8, profile="tuned")),
        record(Point(release="18.1", mode="tpcb-like", clients=1)),
    )
    found = derivation.benchmarks()
    assert set(found) == {
        f"{m}.{n}" for m in ("read_only", "tpcb_like") for n in ("track_latency", "track_tps")
    }
    assert found["read_only.track_latency"]["param_names"] == [
        "protocol",
        "scale",
        "clients",
        "profile",
    ]
    assert found["read_only.track_latency"]["params"] == [
        ["'simple'", "'prepared'"],
        ["'small-5'", "'large-1000'"],
        ["4", "8", "16"],
        ["'default'", "'tuned'"],
    ]
    assert found["read_only.track_latency"]["unit"] == "ms"
    assert found["read_only.track_tps"]["unit"] == "tx/s"
    assert {one["version"] for one in found.values()} == {"1"}


def test_variants_and_machines_have_files_of_their_own(derivation: Derivation) -> None:
    derivation.of(
        record(Point()), record(Point(blocksize=4)), record(Point(machine="mammoth", clients=4))
    )
    seen = {
        (r.params["machine"], r.params["blocksize"], r.env_vars == {}) for r in derivation.results()
    }
    assert seen == {("elephant", "8", True), ("elephant", "4", True), ("mammoth", "8", True)}
    machine = json.loads((derivation.layout.results / "mammoth" / "machine.json").read_text())
    assert machine == {
        "machine": "mammoth",
        "cpu": "AMD EPYC 7763 64-Core Processor",
        "os": "Linux",
        "arch": "x86_64",
        "num_cpu": "2",
        "ram": "8222736384",
        "version": 1,
    }


def test_the_rest_of_a_variants_name_is_an_axis_that_the_site_separates(
    derivation: Derivation,
) -> None:
    rests = ("default", "seg2", "clang", "clang-O3-lto")
    derivation.of(*(record(Point(build=rest, blocksize=size)) for rest in rests for size in (4, 8)))
    seen = [(r.params["build"], r.params["blocksize"]) for r in derivation.results()]
    assert sorted(seen) == sorted((rest, size) for rest in rests for size in ("4", "8"))
    assert set(VARIANT_NAMES) == set(Variant().axes())


def test_deriving_again_writes_nothing(derivation: Derivation) -> None:
    derivation.of(*synthetic_records())
    before = {path: path.stat().st_mtime_ns for path in derivation.layout.results.rglob("*.json")}
    derived = derivation.of()
    assert (derived.written, derived.kept, derived.removed) == (0, len(RELEASES), 0)
    after = {path: path.stat().st_mtime_ns for path in derivation.layout.results.rglob("*.json")}
    assert before == after


def test_a_new_run_rewrites_only_its_file(derivation: Derivation) -> None:
    derivation.of(*synthetic_records())
    derived = derivation.of(record(Point(release="17.6"), number=99))
    assert (derived.written, derived.kept) == (1, len(RELEASES) - 1)


def test_files_from_scratch_are_the_files_that_grew(tmp_path: Path) -> None:
    grown, scratch = Derivation(tmp_path / "a"), Derivation(tmp_path / "b")
    made = list(synthetic_records())
    for part in (made[:10], made[10:30], made[30:]):
        grown.of(*part)
    scratch.of(*made)
    left, right = (sorted(tree(d.layout.results).values()) for d in (grown, scratch))
    assert left == right


@pytest.mark.parametrize("fails", [False, True])
def test_several_processes_write_the_files_that_one_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    alone, several = Derivation(tmp_path / "a"), Derivation(tmp_path / "b")
    alone.of(*synthetic_records())
    monkeypatch.setattr(asv_results, "_SHARE", 1)
    monkeypatch.setattr(asv_results, "cores", lambda: 3)
    me, save = os.getpid(), asv_results.Results.save

    def only_here(results: Results, directory: str) -> None:
        if fails and os.getpid() != me:
            raise OSError(errno.ENOSPC, "full")
        save(results, directory)

    monkeypatch.setattr(asv_results.Results, "save", only_here)
    derived = several.of(*synthetic_records())
    assert derived.written == len(RELEASES)
    left, right = (sorted(tree(d.layout.results).values()) for d in (alone, several))
    assert left == right
    assert not [*tmp_path.rglob(".asv-derive-*")]


def test_a_full_disk_is_one_error(derivation: Derivation, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(asv_results.Results, "save", full)
    with pytest.raises(StorageError) as caught:
        derivation.of(record(Point()))
    assert caught.value.detail.startswith(str(derivation.layout.results))


def test_what_asv_run_wrote_over_is_restored(derivation: Derivation) -> None:
    derivation.of(record(Point()), record(Point(mode="read-write")))
    expected = tree(derivation.layout.results)
    (file,) = derivation.files().values()
    file.write_text("{}")
    (derivation.layout.results / "benchmarks.json").write_text('{"version": 2}')
    derivation.of()
    assert tree(derivation.layout.results) == expected


def test_files_of_dots_that_are_gone_are_removed(derivation: Derivation, tmp_path: Path) -> None:
    derivation.of(record(Point(release="17.6")), record(Point(release="18.1")))
    other = RecordStore(tmp_path / "other")
    other.add(Record.from_json(record(Point(release="18.1"))))
    derived = derived_from(other, derivation.layout, commit_of)
    assert derived.removed == 1
    assert [name[:8] for name in derivation.files()] == [COMMITS["18.1"][:8]]


def test_results_without_a_commit_are_reported(derivation: Derivation) -> None:
    derived = derivation.of(
        record(Point()),
        record(Point(release=None, commit="c" * 40), number=1),
        record(Point(release=None, commit="c" * 40), number=2),
    )
    assert derived.unplaced == ["cccccccccc: 2 records, no commit on a drawn branch"]
    assert derived.points == 1


def test_a_release_from_git_and_from_a_tarball_is_one_dot(derivation: Derivation) -> None:
    tarball, git = (record(Point(), number=number) for number in range(2))
    git["build"]["origin"] |= {"commit": "c" * 40, "tree": "t" * 40, "date": "2025-11-10T20:00:00Z"}
    derived = derivation.of(tarball, git)
    assert (derived.points, derived.superseded) == (1, 0)
    _, _, samples = derivation.value(
        "read_only.track_latency", "'prepared'", "'small-5'", "1", "'default'"
    )
    assert len(samples) == 2


def test_commits_that_share_eight_digits_are_kept_apart(derivation: Derivation) -> None:
    def near(origin: Origin) -> tuple[str, int]:
        return "12345678" + COMMITS[str(origin.release)][8:], 1000

    for release in ("17.6", "18.1"):
        derivation.store.add(Record.from_json(record(Point(release=release))))
    for written in (2, 0):
        derived = derived_from(derivation.store, derivation.layout, near)
        assert (derived.points, derived.written, derived.removed) == (2, written, 0)
    assert len({results.commit_hash for results in derivation.results()}) == 2


def test_samples_of_two_epochs_are_never_mixed_and_the_newest_is_drawn(
    derivation: Derivation,
) -> None:
    derived = derivation.of(
        record(Point(epoch="old"), at=START),
        record(Point(epoch="new"), at=START.replace(hour=1)),
        record(Point(epoch="new"), at=START.replace(hour=2)),
    )
    assert (derived.points, derived.superseded) == (1, 1)
    _, _, samples = derivation.value(
        "read_only.track_latency", "'prepared'", "'small-5'", "1", "'default'"
    )
    assert len(samples) == 2


def test_a_machine_keeps_its_line_when_its_memory_drifts(derivation: Derivation) -> None:
    later = record(Point(release="17.6"), at=START.replace(hour=1))
    later["machine"]["memory_bytes"] += 4096
    derivation.of(record(Point()), later)
    assert {results.params["ram"] for results in derivation.results()} == {"8222736384"}


def test_a_run_without_latency_leaves_a_hole(derivation: Derivation) -> None:
    one = record(Point())
    one["sample"]["latency_ms"] = None
    derivation.of(one, record(Point(clients=4)))
    params = ("'prepared'", "'small-5'", "1", "'default'")
    value, _, samples = derivation.value("read_only.track_latency", *params)
    assert (value, samples) == (None, None)
    assert derivation.value("read_only.track_tps", *params)[0] is not None


def test_no_records_give_no_benchmarks(derivation: Derivation) -> None:
    derived = derivation.of()
    assert (derived.points, derived.written) == (0, 0)
    assert dict(derivation.benchmarks()) == {}


def test_left_overs_of_a_killed_derivation_are_removed(derivation: Derivation) -> None:
    left_over = derivation.layout.results.parent / ".asv-derive-killed"
    left_over.mkdir(parents=True)
    (left_over / "half.json").write_text("{")
    derivation.of(record(Point()))
    assert [path.name for path in left_over.parent.iterdir()] == ["asv"]


def test_the_names_follow_the_configuration_of_asv(tmp_path: Path) -> None:
    layout = AsvLayout.of({"pythons": ["3"], "environment_type": "pgbuild"}, tmp_path)
    assert layout == AsvLayout(results=tmp_path)
    name = layout.environment(Variant().axes())
    assert name == "pgbuild-py3-blocksize8-builddefault-wal_blocksize8"


def test_what_asv_run_builds_is_named_as_what_is_derived() -> None:
    (checkout,) = (path for path in Path(__file__).parents if (path / "asv.conf.json").is_file())
    matrix = Config.load(str(checkout / "asv.conf.json")).matrix["req"]
    first = {name: values[0] for name, values in matrix.items()}
    assert first == Variant().axes()
    assert Variant.from_axes(first) == Variant()


def test_a_project_derives_at_the_commits_of_its_branch(tmp_path: Path) -> None:
    project = Project.make(tmp_path)
    project.add(synthetic_records())
    assert project.derive() == 4 * len(RELEASES)
    hashes = {r.commit_hash for r in iter_results(str(project.layout.results))}
    assert hashes == set(project.commits.values())


def test_runs_that_a_comparison_asked_for_are_in_no_dot(tmp_path: Path) -> None:
    derivation = Derivation(tmp_path)
    planned = list(synthetic_records(releases=["18.1"]))
    derivation.of(*planned)
    before = {p: p.read_text() for p in derivation.layout.results.rglob("*.json")}
    asked = record(Point(latency_ms=9.0), number=99, at=START + timedelta(days=1))
    asked["run"] |= {"preset": "compare", "comparison": "abc", "block": 1, "side": 0}
    derivation.of(asked)
    assert {p: p.read_text() for p in derivation.layout.results.rglob("*.json")} == before


def counted(buffers: str, release: str = "18.1") -> dict[str, Any]:
    timed = record(Point(release=release, clients=1))
    cell = {**timed["cell"], "buffers": buffers}
    return counted_record(timed["build"], cell, timed["machine"], {"identifier": "c1"})


def test_what_is_counted_has_lines_of_its_own_beside_what_is_timed(derivation: Derivation) -> None:
    warm, cold = counted("warm"), counted("cold")
    derivation.of(record(Point(clients=1)), warm, cold)
    assert {name: entry["unit"] for name, entry in derivation.benchmarks().items()} == {
        "read_only.track_latency": "ms",
        "read_only.track_tps": "tx/s",
        "read_only.track_instructions": "instructions/tx",
        "read_only.track_instructions_cold": "instructions/tx",
        "read_only.track_wal_bytes": "bytes/tx",
        "read_only.track_blocks": "blocks/tx",
    }
    params = ("'prepared'", "'small-5'", "1", "'default'")
    for name, one in (("instructions", warm), ("instructions_cold", cold)):
        value, _, samples = derivation.value(f"read_only.track_{name}", *params)
        assert [value] == samples == [one["sample"]["instructions"]]
    assert derivation.value("read_only.track_wal_bytes", *params)[0] == 419
    assert derivation.value("read_only.track_latency", *params)[0] < 1


def test_a_release_that_was_only_counted_is_drawn(derivation: Derivation) -> None:
    derivation.of(counted("warm"))
    assert "read_only.track_latency" not in derivation.benchmarks()


def test_a_family_is_one_benchmark_with_its_workloads_as_a_parameter(
    derivation: Derivation,
) -> None:
    chosen = choose(["sort-equal-keys", "sort-unique", "select-1-*"])
    derivation.of(*counts(chosen, {"18.1": "2025-11-13"}, lambda name, _: 1000.0 + len(name)))
    found = derivation.benchmarks()
    metrics = ("instructions", "wal_bytes")  # of a workload, no blocks are counted
    assert set(found) == {f"{f}.track_{m}" for f in ("joins", "statements") for m in metrics}
    joins = found["joins.track_instructions"]
    assert joins["param_names"] == ["workload", "scale", "clients", "profile"]
    assert joins["params"][0] == ["'sort-equal-keys'", "'sort-unique'"]
    value, _, _ = derivation.value(
        "joins.track_instructions", "'sort-unique'", "'small-1'", "1", "'default'"
    )
    assert value == 1011.0
