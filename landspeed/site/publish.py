"""Publish the site: make it beside the old one, then exchange the two in one step.

No visitor ever sees half a site. If publishing fails or is killed, the old site stays.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from asv.util import UserError, load_json

from base.errors import PublishError
from base.files import exchange, locked, remove_tree, storage_errors
from base.paths import Paths
from landspeed.site.asv_assets import LocalAssets
from landspeed.site.asv_changepoints import Changepoints
from landspeed.site.asv_incremental.make import IncrementalSite, make_site
from landspeed.site.asv_incremental.manifest import SiteManifest

CONFIG = "asv.conf.json"
# Beside the site, so that both are on one file system; git ignores the name.
_DIRECTORY = ".site-publish"
_FRESH = "fresh-"
_MANIFEST = "manifest.json"
_PATHS_IN_CONFIG = ("repo", "benchmark_dir", "env_dir")


def asv_config(project: Path) -> dict[str, Any]:
    """Return *project*'s asv.conf.json, which may have comments; PublishError if unreadable."""
    path = project / CONFIG
    try:
        return dict(load_json(str(path), js_comments=True))
    except (OSError, UserError, ValueError) as error:
        raise PublishError(
            "could not read the configuration of asv",
            detail=f"{path}: {error}",
            hint="Restore it from the repository.",
        ) from error


def publish(paths: Paths, branches: Sequence[str] = ()) -> Path:
    """Make the site of asv's result files, put it at ``paths.site`` and return that directory.

    *branches*, if any, are drawn instead of those that asv.conf.json names. A second process
    waits until the first has published. PublishError, with asv's last lines, if asv fails.
    """
    directory = paths.site.parent / _DIRECTORY
    with storage_errors("publish the site", directory):
        directory.mkdir(parents=True, exist_ok=True)
        with locked(directory / "lock"):
            for left_over in directory.glob(f"{_FRESH}*"):  # of a process that was killed
                remove_tree(left_over)
            # The name is unique because the asv of a killed process may go on writing.
            own = Path(tempfile.mkdtemp(prefix=_FRESH, dir=directory))
            own.chmod(0o755)
            try:
                site = incremental_site(paths, directory, branches)
                last = SiteManifest.load(directory / _MANIFEST)
                made = make_site(site, last, own / "site")
                exchange(own / "site", paths.site)
                if made:
                    made.save(directory / _MANIFEST)
            finally:
                remove_tree(own)
    return paths.site


def incremental_site(paths: Paths, directory: Path, branches: Sequence[str]) -> IncrementalSite:
    """Write asv's configuration into *directory* and return what a site is made from."""
    results = paths.results / "asv"
    config = asv_config(paths.project)
    # The paths are absolute because asv changes into the directory of its configuration.
    config |= {key: str(paths.project / config[key]) for key in _PATHS_IN_CONFIG if key in config}
    config |= {"branches": list(branches) or config.get("branches"), "results_dir": str(results)}
    path = directory / CONFIG
    path.write_text(json.dumps(config, indent=4))
    if not (results / "benchmarks.json").is_file():
        raise PublishError(
            "nothing to publish yet",
            detail=f"{results} has no results.",
            hint='Measure something first: "landspeed run 18 --preset quick".',
        )
    return IncrementalSite(
        config=path,
        results=results,
        site=paths.site,
        static=LocalAssets,
        changepoints=Changepoints,
    )
