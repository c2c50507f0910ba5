"""The command line: the verbs, their help, and where an error becomes an exit code."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from base.errors import LandspeedError, UsageError
from base.files import storage_errors
from landspeed.console.github_log import print_no_commands
from landspeed.console.progress import install_log_handler, say

_INTERRUPTED = 130  # the exit code that a shell reports for a command ended by SIGINT
_RENAMED = {
    "steps": "changes",
    "confirm": "changes --confirm FILE",
    "verify": "build --check",
    "register": "build --from PG_CONFIG",
    "matrix": "plan --matrix",
    "ledger": "doctor --noise",
    "new": "farm plan",
    "results": "farm results",
    "report": "farm issues",
}

Sections = Mapping[str, Mapping[str, str]]

# The first sentence of each verb's help stands here, so that listing the verbs imports none.
SECTIONS: Sections = {
    "Build and measure": {
        "list": "List the known versions, the builds and the measurements.",
        "plan": "Show how each REF would be built and what would be measured.",
        "build": "Build each REF and print its install prefix.",
        "run": "Build each REF, then measure the builds in interleaved order.",
    },
    "Compare": {
        "compare": "Compare two or more servers: FASTER, SLOWER, SAME or UNDECIDED.",
        "explain": "Show which functions execute more or fewer instructions in B than in A.",
        "bisect": "Find the commit, release or build variant that made BAD slower than GOOD.",
        "study": "Measure the study NAME and write its report.",
    },
    "Results": {
        "changes": "List the changes of level in all series, or confirm them.",
        "show": "Show a point: its numbers, its runs and their raw records.",
        "publish": "Publish the site from the records.",
        "preview": "Serve the published site to a browser on this machine.",
    },
    "Machine and farm": {
        "doctor": "Check whether this machine is fit to measure.",
        "farm": "Plan, share and report the work of several machines.",
    },
}
_FARM: Sections = {
    "Commands": {
        "plan": "Plan what to measure of the commits and releases that are new upstream.",
        "results": "Exchange results with the place that all machines share.",
        "issues": "Keep one GitHub issue for each confirmed regression and each silent machine.",
    }
}


class LazyGroup(click.Group):
    """Commands in sections; the module of a command is imported when the command is asked for.

    Together the modules import scipy, pyarrow, asv and matplotlib, which takes two seconds of CPU.
    The command ``list`` is ``list_`` in the module ``list`` of *package*.
    """

    def __init__(self, *, sections: Sections, package: str, **given: Any) -> None:
        super().__init__(**given)
        self.sections, self._package = sections, package

    def list_commands(self, _: click.Context) -> list[str]:
        """Return the names of all commands, in the order of the help."""
        return [name for commands in self.sections.values() for name in commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command; None if there is no such command."""
        if cmd_name in self.commands or cmd_name not in self.list_commands(ctx):
            return super().get_command(ctx, cmd_name)
        module = import_module(f"{self._package}.{cmd_name}")
        command: click.Command = getattr(module, f"{cmd_name}_")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that *args* begin with; a renamed verb is an error with a hint."""
        if ctx.parent is None and args[0] in _RENAMED:
            raise UsageError(
                f'no such command "{args[0]}"',
                hint=f'It has been renamed: use "landspeed {_RENAMED[args[0]]}".',
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one section of the help after the other."""
        for title, commands in self.sections.items():
            with formatter.section(title):
                formatter.write_dl(list(commands.items()))


@click.group(
    cls=LazyGroup,
    sections=SECTIONS,
    package="landspeed.cli",
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        # workflows set options by the environment: LANDSPEED_BISECT_METRIC is bisect's --metric
        "auto_envvar_prefix": "LANDSPEED",
    },
    epilog='Each command has examples: "landspeed COMMAND --help". REF is a major version (18), a '
    "release (17.11) or a tag; with a git upstream also a branch or a commit. REF:VARIANT adds a "
    "build variant (18:bs4).",
)
@click.version_option(package_name="landspeed", allow_from_autoenv=False)
def cli() -> None:
    """Find performance regressions in PostgreSQL, from 8.3 to the current development branch."""
    install_log_handler()


@cli.group("farm", cls=LazyGroup, sections=_FARM, package="landspeed.cli.farm")
def farm_() -> None:
    """Plan, share and report the work of several machines.

    The workflows in .github/workflows run these commands.

    \b
    Examples:
      landspeed farm plan --budget 4h
      landspeed farm results fetch
      landspeed farm issues --dry-run
    """


def _terminated(number: int, _: object) -> None:
    # SIGTERM, which a service manager sends, is handled like Ctrl-C: clusters stop cleanly
    raise KeyboardInterrupt(signal.Signals(number).name)


def main() -> None:
    """Run a command and exit with its code: the console script."""
    signal.signal(signal.SIGTERM, _terminated)
    # Publishing makes a million objects and hardly any cycle among them. With Python's default
    # thresholds the search for cycles took a sixth of its time.
    gc.set_threshold(100_000, 50, 50)
    # numpy's matrices are small here; OpenBLAS's threads only wait for work, on cores in use
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # pyarrow keeps what was freed: publishing a million runs took a tenth more memory
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    print_no_commands()
    # asv starts git, too; ours says why in builders.source.git.
    os.environ.update(GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_SYSTEM=os.devnull)
    try:
        with storage_errors("finish the command"):
            cli(standalone_mode=False, prog_name="landspeed")
    except LandspeedError as error:
        say(str(error))
        sys.exit(error.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(UsageError.exit_code)
    except click.ClickException as error:
        say(str(_as_usage_error(error)))
        sys.exit(UsageError.exit_code)
    except (KeyboardInterrupt, click.Abort):
        say("interrupted: finished builds and runs are kept; the same command resumes")
        sys.exit(_INTERRUPTED)
    except BrokenPipeError:
        # the reader of our stdout has gone; Python must not try to flush to it at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def _as_usage_error(error: click.ClickException) -> UsageError:
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "landspeed"
    message = error.format_message().rstrip(".")
    return UsageError(message[:1].lower() + message[1:], hint=f'Try "{path} --help".')


if __name__ == "__main__":
    main()
