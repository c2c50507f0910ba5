"""``landspeed doctor``: whether this machine is fit to measure."""

from __future__ import annotations

import sys
from importlib import import_module

import click

from base.errors import UsageError
from base.paths import Paths
from landspeed.cli.options.kinds import flag, number_option
from landspeed.cli.options.output import emit, emit_either, json_option
from landspeed.doctor.checks import checks, exit_code, render
from landspeed.doctor.script import fix_hints as hints


@click.command("doctor")
@flag(
    "--fix-hints",
    "Print a script that root can run to fix the problems, instead of the findings.",
)
@flag(
    "--noise",
    "Show from the records how often comparisons raise a false alarm here, and how much "
    "measurements vary.",
)
@number_option(
    "--runs", "With --noise: first measure N comparisons of a server with a copy of itself."
)
@json_option
def doctor_(*, fix_hints: bool, noise: bool, runs: int | None) -> None:
    """Check whether this machine is fit to measure.

    Each finding says what was seen, what it means and how to fix it. "landspeed run" compares
    servers with themselves along with its own runs, two comparisons for every 50; --noise
    reports them with exact 95 % intervals.

    \b
    Examples:
      landspeed doctor
      landspeed doctor --json
      landspeed doctor --fix-hints > fix.sh
      landspeed doctor --noise
      landspeed doctor --noise --runs 3
    """
    if noise:
        # its imports take two seconds of CPU, which the other checks need not wait for
        import_module("landspeed.cli.options.noise").show_noise(runs)
        return
    if runs is not None:
        raise UsageError("--runs needs --noise", hint="Add --noise, or leave out --runs.")
    seen = checks(Paths.find())
    if fix_hints:
        emit(hints(seen))
        return
    emit_either(render(seen), [check.facts() for check in seen])
    sys.exit(exit_code(seen))
