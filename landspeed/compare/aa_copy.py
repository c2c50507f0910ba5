"""A copy of a server under another identity, to compare the server with itself (A/A).

Nothing in a measurement can tell the copy from the original. The copy lies in another
directory and its data is loaded separately. If paths, memory layout or the placement of data
alone make a difference (Mytkowicz, Diwan, Hauswirth and Sweeney, "Producing wrong data without
doing anything obviously wrong!", ASPLOS 2009), the A/A comparison reports it as the false alarm
it is.
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

AA_PRESET = "ledger"
"""The preset that records of A/A comparisons have."""


@contextmanager
def aa_copy(build: Build, number: int, paths: Paths) -> Iterator[Build]:
    """Provide copy *number* (1, 2, …) of *build* for as long as the block lasts.

    An external server is used where it is; only its data is loaded separately.
    """
    copy = replace(
        build,
        identifier=f"{build.identifier}-double{number}",
        digest=digest_text(f"{build.digest} double {number}"),
    )
    if build.external is not None:
        yield copy
        return
    prefix = paths.cache / "doubles" / copy.identifier
    copy = replace(copy, prefix=prefix)
    busy = f"another landspeed compares {build.label} with itself"
    with locked(prefix.with_name(f"{prefix.name}.lock"), wait=False, busy=busy):
        remove_tree(prefix)  # what a killed process left behind
        try:
            with storage_errors(f'copy "{build.prefix}"', prefix):
                clone_tree(build.prefix, prefix)
            write_atomic(prefix / BUILD_JSON, canonical_json(copy.facts()) + "\n")
            yield copy
        finally:
            remove_tree(prefix)
