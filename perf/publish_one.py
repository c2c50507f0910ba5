"""Publishing one more commit, against asv's full regeneration of the same results.

``python -m perf.publish_one``: made-up commits on one branch, each one result file of asv's with
60 parameters, latency and TPS; ``--results 1000`` for a smaller one.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from base.build import Origin
from base.paths import Paths
from benchmarks.record_columns import SCALARS
from builders.source import Place
from landspeed.asv_steps import STEPS_FILE, write_steps
from landspeed.derive import AsvLayout, derive
from landspeed.ledger import ledger
from landspeed.ledger_page import write_ledger_page
from landspeed.publish import publish
from landspeed.steps import survey
from perf.figure import Figure

CELLS = tuple(product(("simple", "extended", "prepared"), range(1, 21)))
CHECKOUT = Path(__file__).resolve().parent.parent
START = 1_600_000_000


def repository(path: Path, count: int) -> list[str]:
    """A bare repository whose master has *count* commits; their hashes, the oldest first."""
    subprocess.run(["git", "init", "--quiet", "--bare", str(path)], check=True)
    parts = []
    for branch, commits in (("releases", 1), ("master", count)):
        for number in range(commits):
            who = f"A Hacker <hacker@example.org> {START + 3600 * number} +0000"
            text = f"commit {number}"
            parts.append(
                f"commit refs/heads/{branch}\nauthor {who}\ncommitter {who}\n"
                f"data {len(text)}\n{text}\nM 100644 inline f\ndata {len(text)}\n{text}\n"
            )
    subprocess.run(
        ["git", f"--git-dir={path}", "fast-import", "--quiet"],
        input="\n".join(parts).encode(),
        check=True,
    )
    argv = ["git", f"--git-dir={path}", "rev-list", "--reverse", "master"]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()


def table_of(commits: list[str]) -> pa.Table:
    """One timed Run of each cell of each of *commits*, as RecordStore.table() has them."""
    each, rows = len(CELLS), len(commits) * len(CELLS)
    latency = 0.1 * np.random.default_rng(1).lognormal(0, 0.02, rows)
    per_commit: dict[str, list[Any]] = {
        "commit": commits,
        "digest": [f"{commit}d" for commit in commits],
        "tree": commits,
        "origin_date": [str(START + 3600 * number) for number in range(len(commits))],
    }
    per_cell = {"protocol": [p for p, _ in CELLS], "clients": [c for _, c in CELLS]}
    same: dict[str, Any] = {
        "time": "2026-01-01T00:00:00.000Z",
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
        "seconds": 10.0,
    }
    numbers: dict[str, Any] = {"latency_ms": latency, "tps": 1000 / latency}
    columns = {}
    for field in SCALARS:
        name = field.name
        if name == "id":
            values: Any = [f"{row:032x}" for row in range(rows)]
        elif name in per_commit:
            values = [value for value in per_commit[name] for _ in range(each)]
        elif name in per_cell:
            values = per_cell[name] * len(commits)
        elif name in numbers:
            values = numbers[name]
        else:
            values = [same.get(name)] * rows
        columns[name] = pa.array(values, type=field.type)
    return pa.table(columns, schema=SCALARS)


@dataclass(frozen=True, kw_only=True)
class World:
    """A World is a project whose records are a table, and where its commits are."""

    paths: Paths
    commits: list[str]

    def publish(self, count: int) -> float:
        """Seconds of publishing all of the first *count* commits, whatever was published before."""
        table = table_of(self.commits[:count])
        positions = {commit: at for at, commit in enumerate(self.commits)}

        def commit_of(origin: Mapping[str, Any]) -> tuple[str, int]:
            return origin["commit"], 1000 * (START + 3600 * positions[origin["commit"]])

        def place_of(origin: Origin) -> Place:
            return Place(line="master", position=positions[str(origin.commit)])

        began = time.monotonic()
        layout = AsvLayout(results=self.paths.results / "asv")
        derive(table, layout, commit_of)
        write_steps(survey(table, place_of).steps, commit_of, layout.results)
        write_ledger_page(ledger(table), layout.results)
        publish(self.paths, lambda _: None, ["releases", "master"])
        return time.monotonic() - began

    def asv(self) -> float:
        """Seconds of ``asv publish`` of the same results, asv's own steps and all."""
        root = self.paths.project
        plain = root / "plain"
        shutil.copytree(self.paths.results / "asv", plain)
        (plain / STEPS_FILE).unlink()
        config = {
            "version": 1,
            "project": "PostgreSQL",
            "repo": str(root / "sources.git"),
            "branches": ["releases", "master"],
            "results_dir": str(plain),
            "html_dir": str(root / "plain-site"),
            "environment_type": "virtualenv",
            "show_commit_url": "#",
            "benchmark_dir": str(root),
            "regressions_first_commits": {".*tps": None},
        }
        (root / "plain.json").write_text(json.dumps(config))
        began = time.monotonic()
        subprocess.run(
            [sys.executable, "-m", "asv", "publish", "--no-pull", "--config", "plain.json"],
            cwd=root,
            env=os.environ | {"HOME": str(root)},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        return time.monotonic() - began


def main() -> None:
    """Print the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=int, default=10_000)
    count = parser.parse_args().results
    with tempfile.TemporaryDirectory(prefix="landspeed-publish-") as name:
        root = Path(name)
        text = (CHECKOUT / "asv.conf.json").read_text()
        (root / "asv.conf.json").write_text(text.replace('".builders.asv_environment", ', ""))
        for package in ("base", "benchmarks", "builders", "landspeed"):
            (root / package).symlink_to(CHECKOUT / package)
        commits = repository(root / "sources.git", count + 1)
        world = World(paths=Paths(cache=root / "cache", project=root), commits=commits)
        first = world.publish(count)
        whole = world.asv()
        one = world.publish(count + 1)
    Figure(
        figure=f"publishing one more commit at {count} results x {len(CELLS)} parameters / asv's "
        "full regeneration",
        value=round(one / whole, 3),
        unit="ratio of wall seconds",
        goal="<= 0.10",
        beside=f"{one:.1f} s against {whole:.1f} s; all of it the first time {first:.1f} s",
    ).show()


if __name__ == "__main__":
    main()
