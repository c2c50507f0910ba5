"""Cut a meson build directory's install plan down to the server that was built there.

``meson install`` installs every target or fails on the first one that is missing, and
PostgreSQL has no target for a server alone. The plan is meson's own pickle
(mesonbuild.minstall reads it), so this runs under the very meson that wrote it.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# The pickle holds mesonbuild's classes: they must be importable under their own names.
import mesonbuild.minstall  # noqa: F401


def prune(build: Path, leave_out: Sequence[str]) -> int:
    """Keep the targets that were built and what a server reads; return how many targets stay.

    Data of the directories *leave_out* of the source tree stays away: it is of what is not built.
    """
    plan = build / "meson-private" / "install.dat"
    data = pickle.loads(plan.read_bytes())  # noqa: S301  written by meson a moment ago
    data.targets = [t for t in data.targets if (build / t.fname).exists() and _is_of_server(t)]
    data.data = [d for d in data.data if _is_of_server(d) and not _is_below(d, data, leave_out)]
    data.install_subdirs = [d for d in data.install_subdirs if _is_of_server(d)]
    built = {Path(t.fname).name for t in data.targets}
    data.symlinks = [s for s in data.symlinks if _is_of_server(s) and s.target in built]
    data.headers = []
    data.install_scripts = []
    plan.write_bytes(pickle.dumps(data))
    return len(data.targets)


def _is_of_server(entry: Any) -> bool:
    # pgxs builds extensions; its Makefile.global would also carry the tree's path into the Build
    place = getattr(entry, "install_path", "")
    return getattr(entry, "tag", "") != "devel" and "pgxs" not in Path(place).parts


def _is_below(entry: Any, data: Any, places: Sequence[str]) -> bool:
    roots = (data.source_dir, data.build_dir)
    return any(Path(entry.path).is_relative_to(Path(r, p)) for r in roots for p in places)


if __name__ == "__main__":
    print(f"{prune(Path(sys.argv[1]), sys.argv[2:])} targets to install")
