"""Which functions of PostgreSQL its regression tests do not execute, into the file landspeed reads.

``python -m perf.workloads.unreached SOURCE``, after these commands in a source tree, as a user that
is not root. initdb's server is forgotten: no test talks to it.

    ./configure --enable-coverage --without-icu --without-readline --without-zlib \\
        CFLAGS=-O0 LCOV=/bin/true GENHTML=/bin/true
    make -j2 && make temp-install
    find . -name '*.gcda' -delete
    make check NO_TEMP_INSTALL=1
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from base.files import write_atomic
from landspeed.profiling.unreached import UNREACHED

_BACKEND = "src/backend"
_FILES_AT_ONCE = 50


def not_executed(source: Path) -> dict[str, list[str]]:
    """Return by C file of the backend below *source* the functions that were not executed."""
    root, found = source.resolve(), {}
    for one in _covered(sorted((root / _BACKEND).rglob("*.gcno"))):
        directory = Path(one["current_working_directory"])
        for file in one["files"]:
            path = (directory / file["file"]).resolve()
            missing = sorted({f["name"] for f in file["functions"] if not f["execution_count"]})
            if path.suffix == ".c" and path.is_relative_to(root / _BACKEND) and missing:
                found[path.relative_to(root).as_posix()] = missing
    return dict(sorted(found.items()))


def _covered(notes: list[Path]) -> Iterator[dict[str, Any]]:
    """Return what gcov says of each object file, whether or not it was executed."""
    for start in range(0, len(notes), _FILES_AT_ONCE):
        some = map(str, notes[start : start + _FILES_AT_ONCE])
        argv = ["gcov", "--json-format", "--stdout", *some]
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
        yield from map(json.loads, done.stdout.splitlines())


def main() -> None:
    """Write the file and say how many functions are in it."""
    found = not_executed(Path(sys.argv[1]))
    text = "".join(f"{path} {' '.join(names)}\n" for path, names in found.items())
    write_atomic(UNREACHED, gzip.compress(text.encode(), mtime=0))
    print(f"{sum(map(len, found.values())):,} functions in {len(found)} files: {UNREACHED}")


if __name__ == "__main__":
    main()
