"""Bring a site up to date with asv's results: from the last site where possible, else by asv.

asv loads every result of every commit three times. When one more commit is published, all but a
few lines of its site stay as they were.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import asv
from asv.benchmarks import Benchmarks
from asv.config import Config
from asv.plugins.git import Git
from asv.plugins.summarylist import SummaryList
from asv.publishing import OutputPublisher
from asv.results import Results
from asv.util import ProcessError, UserError, datetime_to_js_timestamp, write_json

from base.errors import PublishError, last_lines
from base.files import digest_text, remove_tree
from landspeed.console.progress import say
from landspeed.site.asv_incremental.file_stat import FileStat, file_stat, result_files
from landspeed.site.asv_incremental.graphs import (
    ExtendedGraph,
    ExtendedGraphs,
    dots_of,
    set_all_levels,
    summary_graph,
    with_dot,
)
from landspeed.site.asv_incremental.levels import STEPS_FILE
from landspeed.site.asv_incremental.manifest import (
    ResultInfo,
    SiteManifest,
    drawn_twice,
    in_order,
)
from landspeed.site.asv_incremental.refs import CommitPositions, FullPublishNeededError, refs_of

_GRAPHS, _PAGE, _INDEX, _INFO = "graphs", "index.html", "index.json", "info.json"
_LIST = "summary.json"
_TEMPLATE = Path(asv.__file__).parent / "www"
_ANSI = re.compile(r"\x1b\[[0-9;]*m")

Publisher = type[OutputPublisher]


def make_site(site: IncrementalSite, last: SiteManifest | None, fresh: Path) -> SiteManifest | None:
    """Make the site of asv's results at *fresh*, where nothing is yet.

    Every file is byte for byte what ``asv publish`` would write with the same plug-ins, except
    for the time in ``info.json`` and the date of a feed without entries. Graphs that have not
    changed are links to the files of the last site, which must not be written to.

    Return the manifest to pass as *last* next time. None means that the next site takes a full
    publish, as it does when *last* is None. PublishError, with asv's last lines, if asv fails.

    From asv 0.6 this takes the classes in its documentation of results and plug-ins, and in a
    process of its own it replaces the name ``GraphSet`` in ``asv.commands.publish`` (see full.py).
    """
    if last:
        try:
            made = site.extend(last, fresh)
        except FullPublishNeededError as error:
            say(f"publishing all of the site: {error}")
            remove_tree(fresh)
        else:
            say("publishing only what has changed")
            return made
    before = result_files(site.results)
    manifest = fresh.parent / "manifest.json"
    _publish_all(site.config, fresh, manifest)
    return site.completed(SiteManifest.load(manifest), fresh, before)


def _publish_all(config: Path, fresh: Path, manifest: Path) -> None:
    process = subprocess.run(
        [
            *(sys.executable, "-m", "landspeed.site.asv_incremental.full"),
            *map(str, (config, fresh, manifest)),
        ],
        cwd=config.parent.parent,
        env={**os.environ, "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    lines = [line for line in _ANSI.sub("", process.stdout).splitlines() if line.strip()]
    # asv writes info.json last.
    if process.returncode != 0 or not all((fresh / name).is_file() for name in (_PAGE, _INFO)):
        remove_tree(fresh)
        raise PublishError(
            "could not publish the site; the old one, if any, is untouched",
            detail=last_lines("\n".join(lines)) or f"asv exited with {process.returncode}.",
            hint='"asv publish --no-pull" in the checkout shows all of its output.',
        )
    for line in lines:
        if "warning" in line.lower() or "couldn't" in line.lower():
            say(f"asv: {line.strip()}")


@dataclass(frozen=True, kw_only=True)
class IncrementalSite:
    """Where the inputs of a site are.

    ``config`` is asv's, as plain JSON, in a directory of the project. ``results`` are asv's,
    ``site`` is the last site. The *static* publisher writes the files that are not made of
    numbers, and *changepoints* replaces asv's regressions.
    """

    config: Path
    results: Path
    site: Path
    static: Publisher
    changepoints: Publisher

    def frame(self) -> str:
        """Return a digest of everything that requires a full publish when it changes.

        The path of the project is left out: the next job of a farm may have it elsewhere.
        """
        config = self.config.read_text().replace(str(self.config.parent.parent), "")
        code = sorted(Path(__file__).parent.glob("*.py"))
        code.append(Path(inspect.getfile(self.changepoints)))
        machines = sorted(self.results.glob("*/machine.json"))
        texts = [path.read_text() for path in (self._benchmarks, *machines, *code)]
        return digest_text(json.dumps([asv.__version__, config, *texts]))

    @property
    def _benchmarks(self) -> Path:
        return self.results / "benchmarks.json"

    def site_files(self, root: Path) -> dict[str, FileStat]:
        """Return the files of the site at *root* from which the next one is made."""
        some = [root / _INDEX, root / _INFO, *(root / _GRAPHS).rglob("*.json")]
        return {
            path.relative_to(root).as_posix(): file_stat(path) for path in some if path.is_file()
        }

    def completed(
        self, made: SiteManifest | None, fresh: Path, before: Mapping[str, FileStat]
    ) -> SiteManifest | None:
        """Return *made*, which asv left with the site at *fresh*, with the stat of all files.

        None if asv left none, or if the results there were *before* have changed meanwhile.
        """
        now = result_files(self.results)
        if made is None or before != now or before.keys() != made.results.keys():
            return None
        try:
            refs, _ = refs_of(self._conf(fresh).repo)
        except FullPublishNeededError:
            return None
        results = {name: replace(one, stat=before[name]) for name, one in made.results.items()}
        files = self.site_files(fresh)
        return replace(made, frame=self.frame(), refs=refs, results=results, files=files)

    def extend(self, last: SiteManifest, fresh: Path) -> SiteManifest:
        """Make the site at *fresh*, where nothing is yet, from the last one; return its manifest.

        FullPublishNeededError if that is not possible; part of *fresh* may exist then.
        """
        try:
            return self._extend(last, fresh)
        except (UserError, ProcessError, ValueError, LookupError, TypeError, OSError) as error:
            # The last site may come from a damaged cache.
            raise FullPublishNeededError(str(error) or type(error).__name__) from error

    def _extend(self, last: SiteManifest, fresh: Path) -> SiteManifest:
        conf = self._conf(fresh)
        ours = {
            ".builders.asv_environment",
            *(f".{one.__module__}" for one in (self.static, self.changepoints)),
        }
        # Any other plug-in may write whatever it likes.
        if not ours.issuperset(conf.plugins) or not (self.results / STEPS_FILE).is_file():
            raise FullPublishNeededError("a plug-in is not landspeed's, or steps.jsonl is missing")
        if last.frame != self.frame():
            raise FullPublishNeededError(
                "asv, its configuration, the benchmarks or the machines have changed"
            )
        if last.files != self.site_files(self.site):
            raise FullPublishNeededError("the site is not the one that was made last")
        files, benchmarks = result_files(self.results), Benchmarks.load(conf)
        changed = self._changed(last, files)
        infos = _infos(last, changed, files, benchmarks)
        commits = {one.commit for one in infos.values()}
        repo = Git(conf.repo, conf.project)
        positions = CommitPositions.of(repo, conf.repo, conf.branches, last, commits)
        index = json.loads((self.site / _INDEX).read_text())
        if any(positions.tagged(name) != number for name, number in index["tags"].items()):
            raise FullPublishNeededError("a tag was removed or moved")
        index["params"] = _params(index["params"], infos.values())
        known = {one.path: one for one in last.graphs}
        added: dict[str, dict[int, Any]] = {}
        for name, one in changed.items():
            for dot, values in dots_of(name, one, benchmarks, positions, index["params"]):
                added.setdefault(dot.path, {})[positions.revisions[one.commit_hash]] = values
                known[dot.path] = with_dot(known.get(dot.path, dot), dot)
        graphs = ExtendedGraphs(
            ExtendedGraph(
                info,
                self.site / f"{info.path}.json" if f"{info.path}.json" in last.files else None,
                added.get(info.path, {}),
            )
            for info in in_order(known.values())
        )
        shutil.copytree(_TEMPLATE, fresh)
        for path in (fresh, *fresh.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        self.static.publish(conf, None, None, None, None)
        drawn = set_all_levels(self.results, graphs, added.keys(), benchmarks, positions.revisions)
        self._save_graphs(graphs, added.keys(), last, fresh)
        for publisher in (SummaryList, self.changepoints):
            publisher.publish(conf, None, benchmarks, graphs, positions.revisions)
        index["graph_param_list"] = list(
            {json.dumps(one.params, sort_keys=True): one.params for one in drawn}.values()
        )
        self._save_index(index, positions, infos.values(), fresh)
        return SiteManifest(
            frame=last.frame,
            refs=positions.refs,
            results={name: infos.get(name) or last.results[name] for name in files},
            revisions=positions.revisions,
            branches=positions.branches,
            graphs=drawn,
            files=self.site_files(fresh),
        )

    def _conf(self, html: Path) -> Config:
        conf = Config.from_json(json.loads(self.config.read_text()))
        conf.results_dir, conf.html_dir = str(self.results), str(html)
        return conf

    def _changed(self, last: SiteManifest, files: Mapping[str, FileStat]) -> dict[str, Results]:
        if not last.results.keys() <= files.keys():
            raise FullPublishNeededError("results are gone")
        known = {name: one.stat for name, one in last.results.items()}
        return {
            name: Results.load(str(self.results / name), name.partition("/")[0])
            for name, now in files.items()
            if known.get(name) != now
        }

    def _save_graphs(
        self, graphs: ExtendedGraphs, changed: Iterable[str], last: SiteManifest, fresh: Path
    ) -> None:
        for path in changed:
            target = fresh / f"{path}.json"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(graphs.by_path[path].text())
        for name in {graphs.by_path[path].benchmark_name for path in changed}:
            parts = [graph.numbers for graph in graphs.get_graph_group(name)]
            summary_graph(name, parts).save(str(fresh))
        for name in last.files:
            kept = fresh / name
            # asv's SummaryList writes its own files again.
            if name.startswith(_GRAPHS) and kept.name != _LIST and not kept.exists():
                kept.parent.mkdir(parents=True, exist_ok=True)
                try:
                    kept.hardlink_to(self.site / name)
                except OSError:  # The file system has no links, or no more of them for this file.
                    shutil.copy2(self.site / name, kept)

    def _save_index(
        self,
        index: dict[str, Any],
        positions: CommitPositions,
        infos: Iterable[ResultInfo],
        fresh: Path,
    ) -> None:
        """Write what asv writes last."""
        old = index["revision_to_date"]
        dates = {one.commit: one.date for one in infos} | dict(positions.dates)
        index["revision_to_hash"] = {n: commit for commit, n in positions.revisions.items()}
        index["revision_to_date"] = {
            n: old.get(str(n)) or dates[commit] for commit, n in positions.revisions.items()
        }
        index["tags"] = {tag: positions.tagged(tag) for tag in positions.tags}
        # The same text that asv writes piece by piece, in a tenth of the time.
        (fresh / _INDEX).write_text(json.dumps(index))
        info = json.loads((self.site / _INFO).read_text())
        info["timestamp"] = datetime_to_js_timestamp(datetime.now(UTC))
        write_json(str(fresh / _INFO), info)


def _infos(
    last: SiteManifest,
    changed: Mapping[str, Results],
    files: Mapping[str, FileStat],
    benchmarks: Benchmarks,
) -> dict[str, ResultInfo]:
    """Return what the site takes from *changed* results; FullPublishNeededError if unusual."""
    infos = {name: ResultInfo.of(one, benchmarks, files[name]) for name, one in changed.items()}
    for name, one in infos.items():
        old = last.results.get(name, one)
        same = (old.commit, old.date, old.params) == (one.commit, one.date, one.params)
        plain = not changed[name].env_vars and None not in one.params.values()
        if not (same and plain and one.names and set(old.names) <= set(one.names)):
            raise FullPublishNeededError(f"{name} has another commit, parameter or benchmark")
    if drawn_twice({**last.results, **infos}.values()):
        raise FullPublishNeededError("several results are of one commit")
    return infos


def _params(known: Mapping[str, list[Any]], infos: Iterable[ResultInfo]) -> dict[str, list[Any]]:
    """Return asv's list of all values of each parameter, with those of *infos*."""
    names = known.keys() - {"branch"}
    values = {name: set(known[name]) for name in names}
    for one in infos:
        if not one.params.keys() <= names:
            raise FullPublishNeededError("a parameter is new")
        for name in names:
            values[name].add(one.params.get(name))
    return {
        name: sorted(values[name], key=lambda one: "[none]" if one is None else str(one))
        if name in names
        else known[name]
        for name in known
    }
