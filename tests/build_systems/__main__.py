"""Compare what configure and meson build of releases: ``python -m tests.build_systems 17 18``."""

from __future__ import annotations

import sys

import click

from base.build import Variant
from base.errors import LandspeedError
from landspeed.console.table import as_text
from landspeed.session.session import Session
from landspeed.session.target import parse_targets, require_sources
from tests.build_systems.systems import compare_systems, systems_failure, systems_table


def main(refs: tuple[str, ...]) -> None:
    """Print the comparison of each REF; the error of those that drifted apart or did not build."""
    targets = parse_targets(refs, Variant())
    require_sources(targets)
    pairs = compare_systems(Session(), targets, None)
    click.echo(as_text(systems_table(pairs)))
    error = systems_failure(pairs)
    if error is not None:
        raise error


if __name__ == "__main__":
    try:
        main(tuple(sys.argv[1:]))
    except LandspeedError as error:
        sys.exit(str(error))
