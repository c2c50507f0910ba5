"""``asv publish`` of a whole site that also writes the site's manifest; run as a process.

    python -m landspeed.site.asv_incremental.full CONFIG SITE MANIFEST

Only this process patches asv. tests/landspeed/site/asv_incremental/test_full.py checks everything
that is relied upon here and names what asv has changed.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

import asv.commands.publish
from asv.benchmarks import Benchmarks
from asv.config import Config
from asv.console import log
from asv.graph import GraphSet
from asv.plugin_manager import plugin_manager
from asv.results import Results, iter_results_paths
from asv.util import UserError

from landspeed.site.asv_incremental.levels import STEPS_FILE, cuts_of
from landspeed.site.asv_incremental.manifest import ResultInfo, manifest_of


class LazyGraphs(GraphSet):  # type: ignore[misc]
    """asv's graphs, without the step detection that takes most of the time of ``asv publish``.

    A graph that has not been given levels still detects them when it is asked.
    """

    made: ClassVar[list[GraphSet]] = []

    def __init__(self) -> None:
        super().__init__()
        self.made.append(self)

    def detect_steps(self, pool: Any = None, dots: Any = None) -> None:
        """Do nothing: asv asks for the steps of all graphs here."""


class OrderedPublish(asv.commands.publish.Publish):  # type: ignore[misc]
    """asv's command, which reads results in the order of their names instead of the directory's.

    The order of a site's lines is that of the files; so the same results make the same site.
    """

    read: ClassVar[dict[str, ResultInfo]] = {}

    @staticmethod
    def iter_results(conf: Config, repo: Any, range_spec: Any = None) -> Iterator[Results]:
        """Yield all results, and note what each of them has."""
        del repo, range_spec
        read, benchmarks = OrderedPublish.read, Benchmarks.load(conf)
        paths = iter_results_paths(conf.results_dir)
        for root, file, machine in sorted(paths, key=lambda found: f"{found[0]}/{found[1]}"):
            try:
                results = Results.load(f"{root}/{file}", machine_name=machine)
            except UserError as error:
                log.warning(str(error))
                continue
            name = f"{Path(root).name}/{file}"
            if name not in read:
                read[name] = ResultInfo.of(results, benchmarks)
            yield results


def publish_all(config: Path, site: Path, manifest: Path) -> None:
    """Make the whole *site* as ``asv publish --no-pull --config CONFIG`` does; write *manifest*.

    No manifest is written where the next site cannot be made from this one.
    """
    os.chdir(config.parent)
    conf = Config.load(str(config))
    conf.html_dir = str(site)
    for plugin in conf.plugins:
        plugin_manager.import_plugin(plugin)
    with mock.patch.object(asv.commands.publish, "GraphSet", LazyGraphs):
        OrderedPublish.run(conf=conf, pull=False)
    results = Path(conf.results_dir)
    if not (results / STEPS_FILE).is_file():
        return
    numbers = json.loads((site / "index.json").read_text())["revision_to_hash"]
    revisions = {commit: int(number) for number, commit in numbers.items()}
    (graphs,) = LazyGraphs.made
    cuts = cuts_of(results, graphs, Benchmarks.load(conf), revisions)
    made = manifest_of(OrderedPublish.read, conf.branches, graphs, revisions, cuts)
    if made:
        made.save(manifest)


if __name__ == "__main__":
    log.enable()
    try:
        publish_all(*map(Path, sys.argv[1:]))
    except UserError as failure:
        log.error(str(failure))
        sys.exit(1)
    finally:
        log.flush()
