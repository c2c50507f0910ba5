"""``landspeed matrix``: a set of builds, for a GitHub Actions job."""

from __future__ import annotations

import click

from base.build import Variant
from base.files import canonical_json
from base.paths import Paths
from builders.builder import Builder
from landspeed.cli.options.common import emit, variants_options
from landspeed.farm.matrix import matrix_facts, matrix_targets


@click.command("matrix")
@click.argument("refs", nargs=-1, required=True, metavar="REF[:VARIANT]...")
@variants_options
def matrix_(*, refs: tuple[str, ...], variants: list[Variant]) -> None:
    """Print a set of builds as one line of JSON, the matrix of a GitHub Actions job.

    \b
    Examples:
      landspeed matrix 13 18 --blocksize 2 --blocksize 8
      landspeed matrix 18 --compiler gcc --compiler clang --flags O2 --flags O3-lto
      echo "matrix=$(landspeed matrix 17 18:bs4)" >> "$GITHUB_OUTPUT"
    """
    targets = matrix_targets(refs, variants)
    emit(canonical_json(matrix_facts(Builder.open(Paths.find()).sources, targets)))
