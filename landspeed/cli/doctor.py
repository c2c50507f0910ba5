"""``landspeed doctor``: is this machine fit to measure."""

from __future__ import annotations

import sys

import click

from base.paths import Paths
from landspeed.cli.options.common import emit, emit_json, json_option
from landspeed.doctor.checks import checks, exit_code, render
from landspeed.doctor.script import fix_hints as hints


@click.command("doctor")
@click.option(
    "--fix-hints", is_flag=True, help="Print instead a script for root that would mend it."
)
@json_option
def doctor_(*, fix_hints: bool, as_json: bool) -> None:
    """Is this machine fit to measure: what was seen, what it means, how to mend it.

    \b
    Examples:
      landspeed doctor
      landspeed doctor --json
      landspeed doctor --fix-hints > mend.sh
    """
    seen = checks(Paths.find())
    if fix_hints:
        emit(hints(seen))
        return
    if as_json:
        emit_json([check.facts() for check in seen])
    else:
        emit(render(seen))
    sys.exit(exit_code(seen))
