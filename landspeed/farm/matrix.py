"""The set of builds as a matrix for GitHub Actions: ``fromJSON`` of it spreads them over runners.

See "include" in https://docs.github.com/actions/using-jobs/using-a-matrix-for-your-jobs
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from base.build import Variant
from builders.recipe import recipe
from builders.source import Sources
from landspeed.session.target import Target, require_sources


def matrix_targets(refs: Sequence[str], variants: Sequence[Variant]) -> list[Target]:
    """Every REF in every one of *variants*; one that names its variant in that alone."""
    targets = [Target.parse(ref, variant) for ref in refs for variant in variants]
    require_sources(targets)
    return list(dict.fromkeys(targets))


def matrix_facts(sources: Sources, targets: Iterable[Target]) -> dict[str, Any]:
    """The matrix of *targets*: what to build, and a name for it that a job or a file can have.

    A REF is told as the release or commit that it means now, so that all runners build the
    same. Asks no one for a release. VariantError for what a release cannot be built as.
    """
    rows: dict[str, dict[str, str]] = {}
    for target in targets:
        version, source = sources.look_up(target.ref)
        recipe(version, target.variant)
        origin = source.origin if source else None
        ref = (origin.release or origin.commit if origin else None) or str(version)
        name = origin.name if origin else str(version)
        identifier = f"{name}-{target.variant}"
        rows[identifier] = {"ref": ref, "variant": target.variant.name, "identifier": identifier}
    return {"include": list(rows.values())}
