"""A set of builds as a matrix for GitHub Actions, which ``fromJSON`` spreads over runners.

See "include" in
https://docs.github.com/actions/how-tos/write-workflows/choose-what-workflows-do/run-job-variations
"""

from __future__ import annotations

from collections.abc import Iterable

from builders.recipe import recipe
from builders.source import Sources
from landspeed.console.progress import say
from landspeed.session.target import Target

MOST_JOBS = 250
"""The most jobs in a matrix of ours; GitHub refuses more than 256.
https://docs.github.com/actions/reference/limits"""


def builds_matrix(sources: Sources, targets: Iterable[Target]) -> dict[str, list[dict[str, str]]]:
    """Return the matrix that builds *targets*, each under an identifier that can name a file.

    A branch or tag becomes the commit or release it means now, so that all runners build the
    same. Downloads nothing. VariantError if a release cannot have its variant. A matrix has at most
    MOST_JOBS rows; a warning says where the rest begins.
    """
    rows: dict[str, dict[str, str]] = {}
    for target in targets:
        version, source = sources.look_up(target.ref)
        recipe(version, target.variant)
        ref = source.origin.ref if source else str(version)
        identifier = f"{source.origin.name if source else version}-{target.variant}"
        rows[identifier] = {"ref": ref, "variant": target.variant.name, "identifier": identifier}
    listed = list(rows.values())
    if len(listed) > MOST_JOBS:
        left = listed[MOST_JOBS]
        say(
            f"warning: the matrix has the first {MOST_JOBS} of {len(listed)} builds, because "
            f"GitHub takes no more; plan the rest next, from {left['ref']}:{left['variant']} on"
        )
    return {"include": listed[:MOST_JOBS]}
