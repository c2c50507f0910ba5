"""What a site was made from, stored so that the next site can be made from it and what is new."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Self

from asv.graph import Graph, GraphSet
from asv.results import Results

from base.files import write_atomic
from base.typed import from_json
from landspeed.site.asv_incremental.file_stat import FileStat
from landspeed.site.asv_incremental.levels import Cuts, levels_of


@dataclass(frozen=True, kw_only=True)
class ResultInfo:
    """What a site takes from one of asv's result files, except the values.

    ``date`` is the commit's, in ms since 1970; ``names`` are the benchmarks.
    """

    commit: str
    date: int
    params: Mapping[str, Any]
    names: tuple[str, ...]
    stat: FileStat = (0, 0)

    @classmethod
    def of(cls, results: Results, benchmarks: Mapping[str, Any], stat: FileStat = (0, 0)) -> Self:
        """Return that of *results*, of which only *benchmarks* are drawn."""
        return cls(
            commit=results.commit_hash,
            date=results.date,
            params=results.params,
            names=tuple(sorted(results.get_result_keys(benchmarks))),
            stat=stat,
        )


@dataclass(frozen=True, kw_only=True)
class GraphInfo:
    """One of asv's graphs as a site has it, except the values.

    ``first`` is where the graph first appeared: the name of a result file, and the index of a
    branch. ``width`` is the number of lines; ``scalar`` is true if the only line is no list.
    ``empty`` are the revisions that were measured without a number, which asv does not draw.
    ``levels`` are those of each line (see levels.levels()).
    """

    benchmark: str
    params: Mapping[str, Any]
    first: tuple[str, int]
    width: int
    scalar: bool
    empty: tuple[int, ...] = ()
    cuts: Cuts = field(default_factory=dict)
    levels: list[Any] = field(default_factory=list)

    @property
    def path(self) -> str:
        """asv's path of the graph, below the site and without ``.json``."""
        return str(Graph.get_file_path(dict(self.params), self.benchmark))


@dataclass(frozen=True, kw_only=True)
class SiteManifest:
    """What a site was made from.

    ``frame`` is a digest of everything that requires a full publish when it changes, ``refs`` one
    of all branches and tags. ``revisions`` are asv's numbers of commits, ``branches`` those on
    which each measured commit is drawn, ``files`` the FileStat of the site's own files.
    """

    frame: str = ""
    refs: str = ""
    results: Mapping[str, ResultInfo]
    revisions: Mapping[str, int]
    branches: Mapping[str, list[str]]
    graphs: tuple[GraphInfo, ...]
    files: Mapping[str, FileStat] = field(default_factory=dict)

    def save(self, path: Path) -> None:
        """Write the manifest to *path*. Params and names that recur are written once."""
        kinds: dict[str, int] = {}

        def number(value: Any) -> int:
            return kinds.setdefault(json.dumps(value), len(kinds))

        # dataclasses.asdict() would copy every number.
        facts = dict(vars(self))
        facts["results"] = {
            name: [one.commit, one.date, number(one.params), number(one.names), one.stat]
            for name, one in self.results.items()
        }
        facts["graphs"] = [vars(one) for one in self.graphs]
        facts["kinds"] = [json.loads(kind) for kind in kinds]
        write_atomic(path, json.dumps(facts), durable=False)

    @classmethod
    def load(cls, path: Path) -> Self | None:
        """Return the manifest at *path*; None if it is missing or unreadable."""
        try:
            facts = json.loads(path.read_text())
            kinds = facts.pop("kinds")
            results = {
                name: ResultInfo(
                    commit=commit,
                    date=date,
                    params=kinds[params],
                    names=tuple(kinds[names]),
                    stat=(stat[0], stat[1]),
                )
                for name, (commit, date, params, names, stat) in facts.pop("results").items()
            }
            graphs = from_json(tuple[GraphInfo, ...], facts.pop("graphs"))
            files = from_json(dict[str, FileStat], facts.pop("files"))
            return cls(results=results, graphs=graphs, files=files, **facts)
        except (OSError, ValueError, LookupError, TypeError):
            return None


def drawn_twice(results: Iterable[ResultInfo]) -> bool:
    """Return whether two of *results* are of the same dots; asv draws the mean of such results."""
    found = [(one.commit, json.dumps(one.params, sort_keys=True)) for one in results]
    return len(set(found)) < len(found)


def manifest_of(
    results: Mapping[str, ResultInfo],
    branches: list[str],
    graphs: GraphSet,
    revisions: Mapping[str, int],
    cuts: Mapping[str, Cuts],
) -> SiteManifest | None:
    """Return what asv has made a whole site from, without digests and the stat of files.

    None if asv was given results of a kind that landspeed does not derive.
    """
    by_params = {(graph.benchmark_name, _frozen(graph.params)): graph for _, graph in graphs}
    placed: dict[str, list[str]] = {}
    first: dict[str, tuple[str, int]] = {}
    for name, one in results.items():
        for benchmark, (number, branch) in product(one.names, enumerate(branches)):
            graph = by_params.get((benchmark, _frozen({**one.params, "branch": branch})))
            if graph is not None and revisions[one.commit] in graph.data_points:
                first.setdefault(graph.path, (name, number))
                known = placed.setdefault(one.commit, [])
                if branch not in known:
                    known.append(branch)
    if drawn_twice(results.values()) or len(first) < len(graphs):
        return None
    infos = [
        GraphInfo(
            benchmark=graph.benchmark_name,
            params=graph.params,
            first=first[graph.path],
            width=graph.n_series or 1,
            scalar=graph.scalar_series,
            empty=tuple(sorted(set(graph.data_points) - {row[0] for row in graph.get_data()})),
            cuts=cuts.get(graph.path, {}),
            levels=levels_of(graph),
        )
        for _, graph in graphs
    ]
    return SiteManifest(
        results=results, revisions=revisions, branches=placed, graphs=tuple(in_order(infos))
    )


def in_order(graphs: Iterable[GraphInfo]) -> list[GraphInfo]:
    """Return *graphs* in the order in which asv meets them when it reads results by name."""
    return sorted(graphs, key=lambda one: (one.first[0], one.benchmark, one.first[1]))


def _frozen(params: Mapping[str, Any]) -> frozenset[tuple[str, Any]]:
    return frozenset(params.items())
