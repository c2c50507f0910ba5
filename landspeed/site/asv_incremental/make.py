"""A site made anew from what has changed since the last one, byte for byte as asv would make it.

asv loads every result of every commit three times over; when one commit more is published all but
a few lines of its site stay what they were. Whatever else has changed (asv's configuration, its
list of benchmarks, a machine, history, results that are gone), asv makes all of the site.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import asv
from asv.benchmarks import Benchmarks
from asv.config import Config
from asv.graph import GraphSet
from asv.plugins.git import Git
from asv.plugins.summarylist import SummaryList
from asv.results import Results
from asv.util import ProcessError, UserError, datetime_to_js_timestamp, write_json

from base.files import digest_text
from landspeed.site import asv_changepoints
from landspeed.site.asv_assets import LocalAssets
from landspeed.site.asv_changepoints import STEPS_FILE, Nominations
from landspeed.site.asv_incremental.file_stat import Seen, result_files, seen
from landspeed.site.asv_incremental.graphs import (
    RenewedGraph,
    both,
    dots_of,
    levelled,
    summary_graph,
)
from landspeed.site.asv_incremental.manifest import (
    Drawing,
    SiteManifest,
    Taken,
    drawn_twice,
    in_order,
)
from landspeed.site.asv_incremental.refs import Drawn, MadeAnewError, Refs

PLUGINS = frozenset(
    {".builders.asv_environment", ".landspeed.site.asv_assets", ".landspeed.site.asv_changepoints"}
)
"""The plug-ins that a site can be renewed with; any other may write whatever it likes."""

_GRAPHS, _INDEX, _INFO = "graphs", "index.json", "info.json"
_LIST = "summary.json"
_CODE = (*sorted(Path(__file__).parent.glob("*.py")), Path(asv_changepoints.__file__))
_TEMPLATE = Path(asv.__file__).parent / "www"


@dataclass(frozen=True, kw_only=True)
class Renewal:
    """A Renewal makes a site from the last one, at ``site``, and what ``results`` now has.

    ``config`` is asv's, a file of plain JSON in a directory of the project.
    """

    config: Path
    results: Path
    site: Path

    def frame(self) -> str:
        """A digest of all that can only change together with the whole site.

        Not where the project is: the next job of a farm may have it elsewhere.
        """
        config = self.config.read_text().replace(str(self.config.parent.parent), "")
        machines = sorted(self.results.glob("*/machine.json"))
        files = [self.results / "benchmarks.json", *machines, *_CODE]
        texts = [path.read_text() for path in files]
        return digest_text(json.dumps([asv.__version__, config, *texts]))

    def site_files(self, root: Path) -> dict[str, Seen]:
        """The files of the site at *root* that a renewal goes on from."""
        some = [root / _INDEX, root / _INFO, *(root / _GRAPHS).rglob("*.json")]
        return {path.relative_to(root).as_posix(): seen(path) for path in some if path.is_file()}

    def whole(
        self, made: SiteManifest | None, fresh: Path, before: Mapping[str, Seen]
    ) -> SiteManifest | None:
        """*made*, as asv left it with the site at *fresh*, and what files that is of.

        None if asv left none, or the results that there were *before* have changed meanwhile.
        """
        now = result_files(self.results)
        if made is None or before != now or before.keys() != made.results.keys():
            return None
        try:
            refs = Refs.of(self._repo(self._conf(fresh))).digest
        except MadeAnewError:
            return None
        taken = {name: replace(one, seen=before[name]) for name, one in made.results.items()}
        files = self.site_files(fresh)
        return replace(made, frame=self.frame(), refs=refs, results=taken, files=files)

    def make(self, last: SiteManifest, fresh: Path) -> SiteManifest:
        """Make the site at *fresh*, where nothing is yet; its SiteManifest.

        MadeAnewError if that takes asv: *fresh* may then be there in part.
        """
        try:
            return self._make(last, fresh)
        except (UserError, ProcessError, ValueError, LookupError, TypeError, OSError) as error:
            # of a site that comes from a cache nothing can be taken for granted
            raise MadeAnewError(str(error) or type(error).__name__) from error

    def _make(self, last: SiteManifest, fresh: Path) -> SiteManifest:
        conf = self._conf(fresh)
        if not PLUGINS.issuperset(conf.plugins) or not (self.results / STEPS_FILE).is_file():
            raise MadeAnewError("a plug-in is not landspeed's, or the steps are not")
        if last.frame != self.frame():
            raise MadeAnewError("asv, its configuration, benchmarks or machines are others")
        if last.files != self.site_files(self.site):
            raise MadeAnewError("the site is not the one that was made last")
        files, benchmarks = result_files(self.results), Benchmarks.load(conf)
        changed = self._changed(last, files)
        taken = _taken(last, changed, files, benchmarks)
        drawn = Drawn.of(
            self._repo(conf), conf.branches, last, {one.commit for one in taken.values()}
        )
        index = json.loads((self.site / _INDEX).read_text())
        if any(drawn.tagged(name) != number for name, number in index["tags"].items()):
            raise MadeAnewError("a tag is gone or another")
        index["params"] = _params(index["params"], taken.values())
        drawings = {one.path: one for one in last.drawings}
        news: dict[str, dict[int, Any]] = {}
        for name, one in changed.items():
            for dot, values in dots_of(name, one, benchmarks, drawn, index["params"]):
                news.setdefault(dot.path, {})[drawn.revisions[one.commit_hash]] = values
                drawings[dot.path] = both(drawings.get(dot.path, dot), dot)
        graphs = self._graphs(in_order(drawings.values()), news, last)
        _static(conf, fresh)
        made = tuple(levelled(conf, graphs, news.keys(), benchmarks, drawn.revisions))
        self._save_graphs(graphs, news, last, fresh)
        for publisher in (SummaryList, Nominations):
            publisher.publish(conf, None, benchmarks, graphs, drawn.revisions)
        self._save_index(index, made, drawn, taken.values(), fresh)
        return SiteManifest(
            frame=last.frame,
            refs=drawn.refs.digest,
            results={name: taken.get(name) or last.results[name] for name in files},
            revisions=drawn.revisions,
            branches=drawn.branches,
            drawings=made,
            files=self.site_files(fresh),
        )

    def _conf(self, html: Path) -> Config:
        conf = Config.from_json(json.loads(self.config.read_text()))
        conf.results_dir, conf.html_dir = str(self.results), str(html)
        return conf

    def _repo(self, conf: Config) -> Git:
        return Git(conf.repo, conf.project)

    def _changed(self, last: SiteManifest, files: Mapping[str, Seen]) -> dict[str, Results]:
        if not last.results.keys() <= files.keys():
            raise MadeAnewError("results are gone")
        known = {name: one.seen for name, one in last.results.items()}
        return {
            name: Results.load(str(self.results / name), name.partition("/")[0])
            for name, now in files.items()
            if known.get(name) != now
        }

    def _graphs(
        self, drawings: list[Drawing], news: Mapping[str, Mapping[int, Any]], last: SiteManifest
    ) -> GraphSet:
        graphs = GraphSet()
        for drawing in drawings:
            path = drawing.path
            old = self.site / f"{path}.json" if f"{path}.json" in last.files else None
            graphs._graphs[path] = graph = RenewedGraph(drawing, old, news.get(path, {}))
            graphs._groups.setdefault(drawing.benchmark, []).append(graph)
        return graphs

    def _save_graphs(
        self, graphs: GraphSet, news: Mapping[str, Any], last: SiteManifest, fresh: Path
    ) -> None:
        for path in news:
            _write(fresh / f"{path}.json", graphs._graphs[path].text())
        for name in {graphs._graphs[path].benchmark_name for path in news}:
            parts = [graph.numbers for graph in graphs.get_graph_group(name)]
            summary_graph(name, parts).save(str(fresh))
        for name in last.files:
            kept = fresh / name
            # what SummaryList writes is written anew
            if name.startswith(_GRAPHS) and kept.name != _LIST and not kept.exists():
                kept.parent.mkdir(parents=True, exist_ok=True)
                _link(self.site / name, kept)

    def _save_index(
        self,
        index: dict[str, Any],
        drawings: tuple[Drawing, ...],
        drawn: Drawn,
        taken: Iterable[Taken],
        fresh: Path,
    ) -> None:
        """What asv writes last, less what stays as it was."""
        old = index["revision_to_date"]
        dates = {one.commit: one.date for one in taken} | dict(drawn.dates)
        index["revision_to_hash"] = {n: commit for commit, n in drawn.revisions.items()}
        index["revision_to_date"] = {
            n: old.get(str(n)) or dates[commit] for commit, n in drawn.revisions.items()
        }
        several = {json.dumps(one.params, sort_keys=True): one.params for one in drawings}
        index["graph_param_list"] = list(several.values())
        index["tags"] = {tag: drawn.tagged(tag) for tag in drawn.refs.tags}
        # the very text that asv writes piece by piece, in a tenth of the time
        _write(fresh / _INDEX, json.dumps(index))
        info = json.loads((self.site / _INFO).read_text())
        info["timestamp"] = datetime_to_js_timestamp(datetime.now(UTC))
        write_json(str(fresh / _INFO), info)


def _taken(
    last: SiteManifest,
    changed: Mapping[str, Results],
    files: Mapping[str, Seen],
    benchmarks: Benchmarks,
) -> dict[str, Taken]:
    """What the site takes from *changed* results; MadeAnewError if that is out of the ordinary."""
    taken = {name: Taken.of(one, benchmarks, files[name]) for name, one in changed.items()}
    for name, one in taken.items():
        old = last.results.get(name, one)
        same = (old.commit, old.date, old.params) == (one.commit, one.date, one.params)
        plain = not changed[name].env_vars and None not in one.params.values()
        if not (same and plain and one.names and set(old.names) <= set(one.names)):
            raise MadeAnewError(f"{name} is no longer of the same")
    if drawn_twice({**last.results, **taken}.values()):
        raise MadeAnewError("several results are of one commit")
    return taken


def _params(known: Mapping[str, list[Any]], taken: Iterable[Taken]) -> dict[str, list[Any]]:
    """asv's list of all values of each parameter, with those of *taken*."""
    names = known.keys() - {"branch"}
    values = {name: set(known[name]) for name in names}
    for one in taken:
        if not one.params.keys() <= names:
            raise MadeAnewError("a parameter is new")
        for name in names:
            values[name].add(one.params.get(name))
    return {
        name: sorted(values[name], key=lambda one: "[none]" if one is None else str(one))
        if name in names
        else known[name]
        for name in known
    }


def _static(conf: Config, fresh: Path) -> None:
    """All of the site that is not made of numbers, as ``asv publish`` puts it there."""
    shutil.copytree(_TEMPLATE, fresh)
    for path in (fresh, *fresh.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    LocalAssets.publish(conf, None, None, None, None)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _link(old: Path, new: Path) -> None:
    try:
        new.hardlink_to(old)
    except OSError:  # a file system without links, or with as many as it can have
        shutil.copy2(old, new)
