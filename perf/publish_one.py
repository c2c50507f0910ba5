"""Time of publishing one more commit, compared with asv's full regeneration.

``python -m perf.publish_one`` makes up commits on one branch, each measured in 60 cells: one result
file of asv's with 60 parameters, latency and TPS. ``--results N`` sets the number of commits,
``--runs N`` the runs of each cell. Both sides are whole commands: ``landspeed publish``, from the
records to the site, and ``asv publish`` of the result files that it has derived.

``--year`` measures other commands on a year of records: a million runs, eight of each cell. These
records are always the same, and lack the texts that the commands do not read.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.records.columns import SCALARS, TEXT
from builders.catalog import Catalog
from perf.figure import Figure

CELLS = tuple(product(("simple", "extended", "prepared"), range(1, 21)))
CHECKOUT = Path(__file__).resolve().parent.parent
START = 1_600_000_000
YEARS_RUNS, YEARS_COMMITS = 8, 2084
COMMITS_PER_SEGMENT = 8
COMMANDS = {
    "publish": ("publish",),
    "publish again": ("publish",),
    "changes": ("changes",),
    "farm plan": ("farm", "plan"),
}
_PACKAGES = ("base", "benchmarks", "builders", "landspeed", "docker")


def repository(path: Path, count: int) -> list[str]:
    """Create a bare repository with *count* commits on master; return the hashes, oldest first."""
    subprocess.run(["git", "init", "--quiet", "--bare", str(path)], check=True)
    parts = []
    for number in range(count):
        who = f"A Hacker <hacker@example.org> {START + 3600 * number} +0000"
        text = f"commit {number}"
        parts.append(
            f"commit refs/heads/master\nauthor {who}\ncommitter {who}\n"
            f"data {len(text)}\n{text}\nM 100644 inline f\ndata {len(text)}\n{text}\n"
        )
    subprocess.run(
        ["git", f"--git-dir={path}", "fast-import", "--quiet"],
        input="\n".join(parts).encode(),
        check=True,
    )
    argv = ["git", f"--git-dir={path}", "rev-list", "--reverse", "master"]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()


def table_of(commits: list[str], first: int, runs: int) -> pa.Table:
    """Return *runs* timed runs of each cell of *commits*, which follow *first* other commits."""
    each, rows = len(CELLS) * runs, len(commits) * len(CELLS) * runs
    latency = 0.1 * np.random.default_rng(first).lognormal(0, 0.02, rows)
    numbered = range(first, first + len(commits))
    per_commit: dict[str, list[Any]] = {
        "commit": commits,
        "digest": [f"{commit}d" for commit in commits],
        "tree": commits,
        "origin_date": [
            datetime.fromtimestamp(START + 3600 * number, UTC).isoformat() for number in numbered
        ],
    }
    per_cell: dict[str, list[Any]] = {
        "protocol": [p for p, _ in CELLS],
        "clients": [c for _, c in CELLS],
    }
    same: dict[str, Any] = {
        "time": "2026-01-01T00:00:00.000Z",
        "build": "master-bs8",
        "version": "19devel",
        "cc": "gcc",
        "libc": "glibc",
        "blocksize": 8,
        "wal_blocksize": 8,
        "machine": "elephant",
        "cpu": "EPYC",
        "os": "Linux",
        "arch": "x86_64",
        "cores": 2,
        "memory_bytes": 8 << 30,
        "epoch": "e1",
        "runtime_libc": "glibc",
        "pgbench_version": "18.1",
        "mode": "read-only",
        "tier": "small",
        "profile": "default",
        "preset": "regular",
        "scale": 5,
        "threads": 1,
        "seconds": 10.0,
    }
    numbers: dict[str, Any] = {"latency_ms": latency, "tps": 1000 / latency}
    columns = {}
    for field in SCALARS:
        name = field.name
        if name == "id":
            values: Any = [f"{first * each + row:032x}" for row in range(rows)]
        elif name in per_commit:
            values = [value for value in per_commit[name] for _ in range(each)]
        elif name in per_cell:
            values = [value for value in per_cell[name] for _ in range(runs)] * len(commits)
        elif name in numbers:
            values = numbers[name]
        else:
            values = [same.get(name)] * rows
        columns[name] = pa.array(values, type=field.type)
    return pa.table(columns, schema=SCALARS)


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Wall-clock and CPU seconds of a command, and its peak resident memory in bytes."""

    wall: float
    cpu: float
    peak: int

    def __str__(self) -> str:
        return f"{self.wall:.1f} s ({self.cpu:.1f} CPU s)"


@dataclass(frozen=True, kw_only=True)
class World:
    """A project below ``root`` with made-up records."""

    root: Path
    runs: int

    @classmethod
    def make(cls, root: Path, commits: int, runs: int) -> tuple[World, list[str]]:
        """Make a project at *root* without records; return it, and the hashes of its commits."""
        text = (CHECKOUT / "asv.conf.json").read_text()
        (root / "asv.conf.json").write_text(text.replace('".builders.asv_environment", ', ""))
        (root / "landspeed.toml").write_text('[sources]\norder = ["git"]\n')
        for package in _PACKAGES:
            (root / package).symlink_to(CHECKOUT / package)
        hashes = repository(root / "cache" / "sources.git", commits)
        # Without the tags of all releases, for each of which asv calls git twice.
        repository(root / "plain.git", commits)
        return cls(root=root, runs=runs), hashes

    def add(self, commits: list[str], first: int) -> None:
        """Add the records of *commits*, which follow *first* others: scalars without texts."""
        table = table_of(commits, first, self.runs)
        texts = pa.array([""] * table.num_rows, type=pa.large_string())
        directory = self.root / "results" / "records" / "segments" / "elephant" / "2026-01"
        directory.mkdir(parents=True, exist_ok=True)
        table = table.append_column(pa.field(TEXT, pa.large_string()), texts)
        pq.write_table(table, directory / f"{first:032x}.parquet", store_schema=False)

    def publish(self) -> Cost:
        """Return the cost of ``landspeed publish``."""
        return self.landspeed("publish")

    def landspeed(self, *arguments: str) -> Cost:
        """Return the cost of ``landspeed`` with these *arguments*."""
        return self._timed("-m", "landspeed.cli.main", *arguments)

    def asv(self) -> Cost:
        """Return the cost of ``asv publish`` of the same results, with asv's own step detection."""
        config = {
            "version": 1,
            "project": "PostgreSQL",
            "repo": str(self.root / "plain.git"),
            "branches": ["master"],
            "results_dir": str(self.root / "results" / "asv"),
            "html_dir": str(self.root / "plain-site"),
            "environment_type": "virtualenv",
            "show_commit_url": "#",
            "benchmark_dir": str(self.root),
            "regressions_first_commits": {".*tps": None},
        }
        (self.root / "plain.json").write_text(json.dumps(config))
        return self._timed("-m", "asv", "publish", "--no-pull", "--config", "plain.json")

    def _timed(self, *arguments: str) -> Cost:
        own = {
            "LANDSPEED_CACHE": str(self.root / "cache"),
            "LANDSPEED_PROJECT": str(self.root),
            "PYTHONPATH": str(CHECKOUT),
        }
        began = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=self.root,
            env=os.environ | own,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, arguments)
        return Cost(
            wall=time.monotonic() - began,
            cpu=used.ru_utime + used.ru_stime,
            peak=used.ru_maxrss * 1024,
        )


def year(root: Path) -> None:
    """Print the figures of COMMANDS on a year of records below *root*."""
    world, commits = World.make(root, YEARS_COMMITS, YEARS_RUNS)
    for first in range(0, YEARS_COMMITS, COMMITS_PER_SEGMENT):
        world.add(commits[first : first + COMMITS_PER_SEGMENT], first)
    upstream = root / "plain.git"
    newest = str(Catalog.load().newest_stable().version)
    tag = f"REL_{newest.replace('.', '_')}"  # of the release whose pgbench measures
    subprocess.run(["git", f"--git-dir={upstream}", "tag", tag, "master"], check=True)
    os.environ["LANDSPEED_UPSTREAM"] = str(upstream)
    for command, arguments in COMMANDS.items():
        cost = world.landspeed(*arguments)
        Figure(
            figure=f"peak memory of {command} on {YEARS_COMMITS * YEARS_RUNS * len(CELLS)} runs",
            value=round(cost.peak / 1e6),
            unit="MB",
            goal="<= 1000",
            beside=f"{cost} of {YEARS_COMMITS} commits",
        ).show()


def main() -> None:
    """Print the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--year", action="store_true")
    arguments = parser.parse_args()
    count = arguments.results
    with tempfile.TemporaryDirectory(prefix="landspeed-publish-") as name:
        if arguments.year:
            year(Path(name))
            return
        world, commits = World.make(Path(name), count + 1, arguments.runs)
        world.add(commits[:count], 0)
        first = world.publish()
        world.add(commits[count:], count)
        one = world.publish()
        whole = world.asv()
        nothing = world.publish()
    Figure(
        figure=f"publishing one more commit at {count} results x {len(CELLS)} parameters / asv's "
        "full regeneration",
        value=round(one.wall / whole.wall, 3),
        unit="ratio of wall seconds",
        goal="<= 0.10",
        beside=f"{one} against {whole}; the first time {first}, with nothing new {nothing}",
    ).show()
    Figure(
        figure=f"first publish of {count} results x {len(CELLS)} parameters",
        value=round(first.wall, 1),
        unit="s",
        goal="<= 120 s of 10000 results on 2 cores",
        beside=f"{first}, {first.peak / 1e6:.0f} MB; asv's full regeneration alone {whole}",
    ).show()


if __name__ == "__main__":
    main()
