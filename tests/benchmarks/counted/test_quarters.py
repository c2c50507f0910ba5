"""Commits from the middle of a development cycle are counted like releases.

A sample of the quarter years in docs/builds.md. By name, with a clone of PostgreSQL:
``LANDSPEED_UPSTREAM=CLONE pytest -m "" tests/benchmarks/counted/test_quarters.py``.
"""

from __future__ import annotations

import os

import pytest

from base.build import Build, Variant
from benchmarks.counted.cells import workload_cell
from benchmarks.records.record import Record
from benchmarks.workloads.catalog import named
from landspeed.session.session import Session
from tests.kits.servers.cluster_kit import server_paths
from tests.kits.servers.counter_kit import counter

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.long,
    pytest.mark.skipif(
        not os.environ.get("LANDSPEED_UPSTREAM"), reason="needs a clone of PostgreSQL"
    ),
]


@pytest.mark.parametrize(
    "commit",
    [
        "87081b2d35",  # 2009-01-01
        "f3aec2c7f5",  # 2009-10-01, whose grammar bison 3 declares in another way
        "9f60880207",  # 2012-01-01
        "4f9f495889",  # 2016-07-01, whose max_worker_processes cannot be 0
        "01fd6f8f2d",  # 2017-04-01
        "c74d49d41c",  # 2019-07-01
        "a19f83f879",  # 2024-10-01
    ],
)
def test_a_commit_in_the_middle_of_a_development_is_counted(commit: str, pgbench_build: Build):
    session = Session()
    build = session.build(session.builder.sources.resolve(commit), Variant())
    with server_paths() as paths:
        cells = [workload_cell(named("select-1-simple"))]
        (outcome,) = counter(build, pgbench_build, paths).count(cells)
    assert isinstance(outcome, Record), outcome
    assert 25_000 < (outcome.sample.instructions or 0.0) < 45_000
