"""Cut a meson build directory's install plan down to what was built there.

``meson install`` installs every target or fails on the first one that is missing, and
PostgreSQL has no target for a server alone. The plan is meson's own pickle
(mesonbuild.minstall reads it), so this runs under the very meson that wrote it.
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

# The pickle holds mesonbuild's classes: they must be importable under their own names.
import mesonbuild.minstall  # noqa: F401


def prune(build: Path) -> int:
    """Drop targets that were not built and development files; return how many stay."""
    plan = build / "meson-private" / "install.dat"
    data = pickle.loads(plan.read_bytes())  # noqa: S301  written by meson a moment ago
    data.targets = [
        t for t in data.targets if (build / t.fname).exists() and getattr(t, "tag", "") != "devel"
    ]
    data.headers = []
    data.install_scripts = []
    data.install_subdirs = [d for d in data.install_subdirs if d.tag != "devel"]
    plan.write_bytes(pickle.dumps(data))
    return len(data.targets)


if __name__ == "__main__":
    print(f"{prune(Path(sys.argv[1]))} targets to install")
