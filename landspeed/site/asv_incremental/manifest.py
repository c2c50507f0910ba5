"""What a site was made from, written down when asv made it, so that the next one is made of less.

Without an SiteManifest, or with one that does not fit, all of the site is made anew.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Self

import asv.commands.publish
import asv.results
from asv.graph import Graph, GraphSet
from asv.results import Results

from base.files import write_atomic
from landspeed.site.asv_incremental.file_stat import Seen

IMPRINT = "LANDSPEED_IMPRINT"
"""The environment variable that tells ``asv publish`` where to write the SiteManifest, if at all."""

Cuts = Mapping[int, list[int]]
"""The revisions at which the lines of a graph change their level, by the line's index."""


@dataclass(frozen=True, kw_only=True)
class Taken:
    """A Taken is what a site takes from one of asv's result files, but for the numbers.

    ``date`` is the commit's, in ms since 1970; ``names`` are the benchmarks.
    """

    commit: str
    date: int
    params: Mapping[str, Any]
    names: tuple[str, ...]
    seen: Seen = (0, 0)

    @classmethod
    def of(cls, results: Results, benchmarks: Mapping[str, Any], seen: Seen = (0, 0)) -> Self:
        """What *results* have to give, of the *benchmarks* that there are."""
        return cls(
            commit=results.commit_hash,
            date=results.date,
            params=results.params,
            names=tuple(sorted(results.get_result_keys(benchmarks))),
            seen=seen,
        )


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A Drawing is one of asv's graphs as a site has it, but for the numbers.

    ``first`` says where it came from first: the name of a result file, and which of the
    branches. ``width`` is how many lines it has, and it is ``scalar`` if that one is no list;
    ``silent`` revisions are those that were measured without a number and are not drawn.
    ``levels`` are those of each line, see landspeed.asv_steps.levels().
    """

    benchmark: str
    params: Mapping[str, Any]
    first: tuple[str, int]
    width: int
    scalar: bool
    silent: tuple[int, ...] = ()
    cuts: Cuts = field(default_factory=dict)
    levels: list[Any] = field(default_factory=list)

    @property
    def path(self) -> str:
        """asv's path of the graph, below the site and without ``.json``."""
        return str(Graph.get_file_path(dict(self.params), self.benchmark))


@dataclass(frozen=True, kw_only=True)
class SiteManifest:
    """An SiteManifest is what a site was made from.

    ``frame`` is a digest of all that can only change together with the whole site,
    ``refs`` one of all branches and tags. ``revisions`` are asv's numbers of commits,
    ``branches`` where the measured ones are drawn, ``files`` what the site's own files were seen
    to be.
    """

    frame: str = ""
    refs: str = ""
    results: Mapping[str, Taken]
    revisions: Mapping[str, int]
    branches: Mapping[str, list[str]]
    drawings: tuple[Drawing, ...]
    files: Mapping[str, Seen] = field(default_factory=dict)

    def save(self, path: Path) -> None:
        """Write it to *path*; the few kinds of params and names are written once."""
        kinds: dict[str, int] = {}

        def number(value: Any) -> int:
            return kinds.setdefault(json.dumps(value), len(kinds))

        # asdict() of all would copy every number
        facts = dict(vars(self))
        facts["results"] = {
            name: [one.commit, one.date, number(one.params), number(one.names), one.seen]
            for name, one in self.results.items()
        }
        facts["drawings"] = [vars(one) for one in self.drawings]
        facts["kinds"] = [json.loads(kind) for kind in kinds]
        write_atomic(path, json.dumps(facts), durable=False)

    @classmethod
    def load(cls, path: Path) -> Self | None:
        """The SiteManifest at *path*; None if there is none that can be read."""
        try:
            facts = json.loads(path.read_text())
            kinds = facts.pop("kinds")
            taken = {
                name: Taken(
                    commit=commit,
                    date=date,
                    params=kinds[params],
                    names=tuple(kinds[names]),
                    seen=(seen[0], seen[1]),
                )
                for name, (commit, date, params, names, seen) in facts.pop("results").items()
            }
            drawings = tuple(_drawing(one) for one in facts.pop("drawings"))
            files = {name: (size, time) for name, (size, time) in facts.pop("files").items()}
            return cls(results=taken, drawings=drawings, files=files, **facts)
        except (OSError, ValueError, KeyError, TypeError):
            return None


def _drawing(facts: Mapping[str, Any]) -> Drawing:
    name, branch = facts["first"]
    return Drawing(
        **{
            **facts,
            "first": (name, branch),
            "silent": tuple(facts["silent"]),
            "cuts": {int(index): at for index, at in facts["cuts"].items()},
        }
    )


def drawn_twice(results: Iterable[Taken]) -> bool:
    """Whether two of *results* give asv numbers for the same dots, of which it takes the mean."""
    found = [(one.commit, json.dumps(one.params, sort_keys=True)) for one in results]
    return len(set(found)) < len(found)


def keep(
    benchmarks: Mapping[str, Any],
    branches: list[str],
    graphs: GraphSet,
    revisions: Mapping[str, int],
    cuts: Mapping[str, Cuts],
) -> None:
    """Called within ``asv publish`` when all graphs have their levels: write down what it made.

    Nothing is written unless the environment says where.
    """
    path = os.environ.get(IMPRINT)
    if not path:
        return
    results = {name: Taken.of(one, benchmarks) for name, one in sorted(_READ.items())}
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
        return  # asv was given what landspeed does not derive
    drawings = [
        Drawing(
            benchmark=graph.benchmark_name,
            params=graph.params,
            first=first[graph.path],
            width=graph.n_series or 1,
            scalar=graph.scalar_series,
            silent=_silent(graph),
            cuts=cuts.get(graph.path, {}),
            levels=graph._steps,
        )
        for _, graph in graphs
    ]
    SiteManifest(
        results=results,
        revisions=dict(revisions),
        branches=placed,
        drawings=tuple(in_order(drawings)),
    ).save(Path(path))


def in_order(drawings: Iterable[Drawing]) -> list[Drawing]:
    """*drawings* as asv comes upon them when it reads the results in the order of their names."""
    return sorted(drawings, key=lambda one: (one.first[0], one.benchmark, one.first[1]))


def _frozen(params: Mapping[str, Any]) -> frozenset[tuple[str, Any]]:
    return frozenset(params.items())


def _silent(graph: Graph) -> tuple[int, ...]:
    drawn = {row[0] for row in graph.get_data()}
    return tuple(sorted(set(graph.data_points) - drawn))


_READ: dict[str, Results] = {}


def _noted(results: str) -> Iterator[Results]:
    """asv's iter_results(), which notes what it reads, but for the numbers."""
    for one in asv.results.iter_results(results):
        if os.environ.get(IMPRINT) and one._filename not in _READ:
            bare = Results(one.params, {}, one.commit_hash, one.date, "", "", one.env_vars)
            bare._results = dict.fromkeys(one.get_all_result_keys())
            bare._benchmark_version = dict(one.benchmark_version)
            _READ[one._filename] = bare
        yield one


def _in_order(results: str) -> list[tuple[str, str, str]]:
    """asv's iter_results_paths() in the order of the names, not that of the file system.

    The same results make the same site everywhere: the order of its lines is that of the files.
    """
    return sorted(_PATHS(results), key=lambda found: f"{found[0]}/{found[1]}")


_PATHS = asv.results.iter_results_paths
asv.results.iter_results_paths = _in_order
asv.commands.publish.iter_results = _noted
