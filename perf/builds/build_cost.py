"""What building one release costs in CPU seconds, beside a plain configure, make, make install.

``python -m perf.builds.build_cost [REF]`` builds REF (18) three times in a cache of its own:
plainly, with landspeed from cold, and with landspeed again after its store was removed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from base.build import Variant
from base.errors import BuildError
from base.files import remove_tree
from base.paths import Paths
from builders.builder import Builder
from builders.sandbox import Host
from builders.source import Source
from builders.store import Store
from landspeed.console.progress import say
from perf.figure import Figure, cpu_seconds

# configure requires these headers by default.
_HEADERS = {
    "libreadline-dev": "readline/readline.h",
    "zlib1g-dev": "zlib.h",
    "libicu-dev": "unicode/ucol.h",
}


def plain(builder: Builder, source: Source, directory: Path) -> float:
    """CPU seconds of ``./configure && make && make install`` of *source*."""
    tree = directory / "plain"
    builder.sources.export(source, tree)
    jobs = f"-j{len(os.sched_getaffinity(0))}"
    # PostgreSQL makes its generated headers only at MAKELEVEL 0, and "make perf" starts us at 1.
    environment = {name: value for name, value in os.environ.items() if "MAKE" not in name}
    before = cpu_seconds()
    for argv in (
        ["./configure", f"--prefix={directory / 'installed'}"],
        ["make", "-s", jobs],
        ["make", "-s", "install"],
    ):
        subprocess.run(argv, cwd=tree, env=environment, check=True, stdout=subprocess.DEVNULL)
    return cpu_seconds() - before


def ours(builder: Builder, source: Source) -> float:
    """CPU seconds of all that ``landspeed build`` does for *source*, unpacking included."""
    before = cpu_seconds()
    builder.build(source, Variant(), progress=lambda _: None)
    return cpu_seconds() - before


def main(ref: str) -> None:
    """Print the figures for *ref*."""
    missing = [
        name for name, header in _HEADERS.items() if not Path("/usr/include", header).exists()
    ]
    if missing:
        raise BuildError(
            "a plain ./configure of PostgreSQL would end in an error here",
            detail=f"Headers are missing: {', '.join(missing)}.",
            hint=f"apt-get install {' '.join(missing)}",
        )
    shared = Builder.open(Paths.find())
    source = shared.sources.resolve(ref)
    with tempfile.TemporaryDirectory(prefix="landspeed-perf-") as name:
        own = Path(name)
        paths = replace(shared.paths, cache=own)
        builder = replace(
            shared,
            paths=paths,
            sandbox=Host(ccache=paths.ccache, jobs=shared.sandbox.jobs),
            store=Store(root=paths.store, limit=shared.store.limit),
        )
        say(f"building {source.version} plainly, then cold, then with a warm ccache")
        beside = plain(builder, source, own)
        cold = ours(builder, source)
        remove_tree(paths.store)
        warm = ours(builder, source)
    by = f"{beside:.0f} CPU s for plain configure && make && make install of {source.version}"
    Figure(
        figure="build cold / plain",
        value=round(cold / beside, 3),
        unit="ratio of CPU seconds",
        goal="<= 0.85",
        beside=by,
    ).show()
    Figure(
        figure="rebuild with warm ccache / plain",
        value=round(warm / beside, 3),
        unit="ratio of CPU seconds",
        goal="<= 0.10",
        beside=by,
    ).show()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "18")
