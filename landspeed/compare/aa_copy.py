"""A double: a copy of a server under another identity, to compare the server with itself.

Nothing that measures can tell that it is a copy. It lies elsewhere, its data was loaded anew:
where paths, memory layout or the placing of data alone make a difference (Mytkowicz, Diwan,
Hauswirth and Sweeney, "Producing wrong data without doing anything obviously wrong!", ASPLOS
2009), it shows here, as the false alarm it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from base.build import BUILD_JSON, Build
from base.files import (
    canonical_json,
    digest_text,
    locked,
    remove_tree,
    storage_errors,
    write_atomic,
)
from base.paths import Paths
from benchmarks.machine.copy_tree import clone_tree


def identity_of_double(build: Build, number: int) -> Build:
    """*build* as its double *number* (1, 2, …) is called, wherever that lies."""
    return replace(
        build,
        identifier=f"{build.identifier}-double{number}",
        digest=digest_text(f"{build.digest} double {number}"),
    )


@contextmanager
def doubled(build: Build, number: int, paths: Paths) -> Iterator[Build]:
    """The double *number* of *build*, there for as long as the block lasts.

    Of what somebody else built only the data is doubled: the server is used where it lies.
    """
    double = identity_of_double(build, number)
    if build.foreign is not None:
        yield double
        return
    prefix = paths.cache / "doubles" / double.identifier
    double = replace(double, prefix=prefix)
    busy = f"another landspeed compares {build.label} with itself"
    with locked(prefix.with_name(f"{prefix.name}.lock"), wait=False, busy=busy):
        remove_tree(prefix)  # of one that was killed
        try:
            with storage_errors(f'copy "{build.prefix}"', prefix):
                clone_tree(build.prefix, prefix)
            write_atomic(prefix / BUILD_JSON, canonical_json(double.facts()) + "\n")
            yield double
        finally:
            remove_tree(prefix)
