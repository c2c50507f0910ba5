"""Find the settings with which a server plans a workload as another server does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from base.build import Build
from benchmarks.counted.cells import database_of
from benchmarks.counted.plans import plans_of
from benchmarks.counted.settings import exact_settings
from benchmarks.data.templates import Templates
from benchmarks.records.record import PlanFacts
from benchmarks.server.cluster import known_settings
from benchmarks.server.configuration import Configuration
from benchmarks.server.serving import serving
from benchmarks.workloads.catalog import Workload
from benchmarks.workloads.scenario import Cell

# What keeps the planner from a node; the first word that a line holds is its node.
_AVOIDED_BY = {
    "Index Only Scan": "enable_indexonlyscan",
    "Bitmap": "enable_bitmapscan",
    "Index Scan": "enable_indexscan",
    "Seq Scan": "enable_seqscan",
    "Tid": "enable_tidscan",
    "Incremental Sort": "enable_incremental_sort",
    "Sort": "enable_sort",
    "HashAggregate": "enable_hashagg",
    "HashSetOp": "enable_hashagg",
    "Materialize": "enable_material",
    "Memoize": "enable_memoize",
    "Nested Loop": "enable_nestloop",
    "Merge Join": "enable_mergejoin",
    "Merge Append": "enable_sort",
    "Parallel Hash": "enable_parallel_hash",
    "Hash": "enable_hashjoin",
    "Gather": "max_parallel_workers_per_gather",
}
_MOST_AT_ONCE = 3


def forcing_settings(
    build: Build,
    store: Templates,
    cell: Cell,
    workload: Workload,
    *,
    wanted: PlanFacts,
    known: PlanFacts,
    features: Sequence[str],
) -> dict[str, str] | None:
    """Return settings with which *build* plans *workload* as *wanted*; None if none are found.

    *known* is its plan without them. *features* are settings of the planner that the server with
    the wanted plan does not have. The fewest settings that do it are returned.
    """
    configuration = Configuration.named(cell.profile)
    names = known_settings(build)
    # a template does not depend on the machine's memory: neither do these configurations
    settings = {**configuration.settings(names, 0), **exact_settings(names)}
    reachable = store.home.reachable(build)
    database = database_of(workload.dataset)
    variables = {"scale": str(cell.scenario.scale)}
    with (
        store.lease(reachable, cell.scenario.scale, writes=False) as data,
        serving(
            store.home,
            build=reachable,
            data=data,
            topology=None,
            settings=settings,
            keep=True,
            confined=True,
        ) as (cluster, *_),
        cluster.answering(),
    ):
        # a commit may have a node whose setting has another name until later
        able = [name for name in candidates(wanted, known, features) if name in names]
        for chosen in _choices(able):
            with cluster.connect(database) as connection:
                for name, value in chosen.items():
                    connection.execute("SELECT set_config(%s, %s, false)", [name, value])
                found = plans_of(connection, workload, variables)
            if found and found.shape == wanted.shape:
                return chosen
    return None


def candidates(wanted: PlanFacts, known: PlanFacts, features: Sequence[str]) -> list[str]:
    """Return the settings that forbid nodes that *known* has more of than *wanted*, and *features*.

    Those that forbid a node come first.
    """
    before, after = (_avoided(plan.lines) for plan in (wanted, known))
    new = [name for name in after if after.count(name) > before.count(name)]
    # a node may stand below another join than before, with the same number of each
    return list(dict.fromkeys([*new, *features, *after]))


def _avoided(lines: Sequence[str]) -> list[str]:
    found = (
        next((name for word, name in _AVOIDED_BY.items() if word in line.split(" on ")[0]), None)
        for line in lines
        if line.startswith("  ")
    )
    return [name for name in found if name]


def _choices(names: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield the values of one of *names*, of two, and so on."""
    for size in range(1, min(_MOST_AT_ONCE, len(names)) + 1):
        for some in combinations(names, size):
            yield {name: "0" if name.startswith("max_") else "off" for name in some}
