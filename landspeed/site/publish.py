"""Publish the site: made beside the old one, then put in its place in one step.

Where only results have come it is made from the last one (landspeed/site/asv_incremental), else
by asv.

Nobody ever sees half a site; whatever fails or is killed, the old one stays.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from asv.util import UserError, load_json

from base.errors import PublishError
from base.files import exchange, locked, remove_tree, storage_errors
from base.paths import Paths
from landspeed.site.asv_incremental.file_stat import result_files
from landspeed.site.asv_incremental.make import Renewal
from landspeed.site.asv_incremental.manifest import IMPRINT, SiteManifest
from landspeed.site.asv_incremental.refs import MadeAnewError

CONFIG = "asv.conf.json"
# Beside the site, so that both are on one file system; named so that git ignores it.
_WORKSHOP = ".site-publish"
_FRESH = "fresh-"
_IMPRINT = "imprint.json"
_PATHS_IN_CONFIG = ("repo", "benchmark_dir", "env_dir", "results_dir")
_LAST_LINES = 10
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


def asv_config(project: Path) -> dict[str, Any]:
    """What *project*'s asv.conf.json says (it may have comments); PublishError if unreadable."""
    path = project / CONFIG
    try:
        return dict(load_json(str(path), js_comments=True))
    except (OSError, UserError, ValueError) as error:
        raise PublishError(
            "could not read the configuration of asv",
            detail=f"{path}: {error}",
            hint="Restore it from the repository.",
        ) from error


def publish(paths: Paths, say: Callable[[str], None], branches: Sequence[str] = ()) -> Path:
    """Make the site from asv's result files and put it at ``paths.site``; its directory.

    *branches* are drawn, if any are given, instead of those that asv.conf.json names.
    One publishing at a time, others wait. PublishError with asv's last lines if it fails.
    """
    session = paths.site.parent / _WORKSHOP
    with storage_errors("publish the site", session):
        session.mkdir(parents=True, exist_ok=True)
        with locked(session / "lock"):
            for left_over in session.glob(f"{_FRESH}*"):  # of a publish that was killed
                remove_tree(left_over)
            # A name of its own: the asv of a killed publish may go on writing under the old one.
            own = Path(tempfile.mkdtemp(prefix=_FRESH, dir=session))
            own.chmod(0o755)
            try:
                config = _write_config(paths, session, branches)
                made = _made(paths, own / "site", config, say)
                exchange(own / "site", paths.site)
                if made:
                    made.save(session / _IMPRINT)
            finally:
                remove_tree(own)
    return paths.site


def _write_config(paths: Paths, session: Path, branches: Sequence[str]) -> Path:
    # With absolute paths: asv changes into the directory of its configuration.
    config = asv_config(paths.project)
    for key in _PATHS_IN_CONFIG:
        if key in config:
            config[key] = str(paths.project / config[key])
    config["branches"] = list(branches) or config.get("branches")
    config["results_dir"] = str(paths.results / "asv")
    path = session / CONFIG
    path.write_text(json.dumps(config, indent=4))
    return path


def _made(
    paths: Paths, fresh: Path, config: Path, say: Callable[[str], None]
) -> SiteManifest | None:
    """Make the site at *fresh* from the last one, or by asv; its SiteManifest, if it can have one."""
    renewal = Renewal(config=config, results=paths.results / "asv", site=paths.site)
    last = SiteManifest.load(config.parent / _IMPRINT)
    if last:
        try:
            made = renewal.make(last, fresh)
        except MadeAnewError as error:
            say(f"all of the site is made anew: {error}")
            remove_tree(fresh)
        else:
            say("of the site only what has changed is made again")
            return made
    before = result_files(renewal.results)
    _make(paths, fresh, config, say)
    return renewal.whole(SiteManifest.load(fresh.parent / _IMPRINT), fresh, before)


def _make(paths: Paths, fresh: Path, config: Path, say: Callable[[str], None]) -> None:
    if not (paths.results / "asv" / "benchmarks.json").is_file():
        raise PublishError(
            "nothing to publish yet",
            detail=f"{paths.results / 'asv'} has no results.",
            hint='Measure something first: "landspeed run 18 --preset quick".',
        )
    process = subprocess.run(
        [
            *(sys.executable, "-m", "asv", "publish", "--no-pull"),
            *("--config", str(config), "--html-dir", str(fresh)),
        ],
        cwd=paths.project,
        env={**os.environ, "NO_COLOR": "1", IMPRINT: str(fresh.parent / _IMPRINT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    lines = [line for line in _ANSI.sub("", process.stdout).splitlines() if line.strip()]
    if process.returncode != 0 or not _is_whole(fresh):
        remove_tree(fresh)
        raise PublishError(
            "could not publish the site; the old one, if any, is untouched",
            detail="\n".join(lines[-_LAST_LINES:]) or f"asv ended with {process.returncode}.",
            hint='"asv publish --no-pull" in the checkout shows all of it.',
        )
    for line in lines:
        if "warning" in line.lower() or "couldn't" in line.lower():
            say(f"asv: {line.strip()}")


def _is_whole(site: Path) -> bool:
    # info.json is what asv writes last
    return (site / "index.html").is_file() and (site / "info.json").is_file()
