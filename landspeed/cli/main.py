"""The command line: verbs, their help, and the one place where an error becomes an exit code."""

from __future__ import annotations

import gc
import os
import signal
import sys
from importlib import import_module

import click

from base.errors import LandspeedError, UsageError
from landspeed.console.github_log import print_no_commands
from landspeed.console.log import install_log_handler
from landspeed.console.progress import say

_INTERRUPTED = 130  # what a shell calls a command that SIGINT ended
# Each verb with the first sentence of its help, which its module need not be imported for.
SECTIONS: dict[str, dict[str, str]] = {
    "Build": {
        "list": "What is known, what is built, what is measured.",
        "plan": "Print how REF would be built and what would be measured; run nothing.",
        "build": "Build every REF and print its install prefix; at once if it is in the store.",
        "verify": "Build every REF and have it serve: initdb, start, sizes, psycopg, stop, all...",
        "matrix": "Print a set of builds as one line of JSON, the matrix of a GitHub Actions job.",
        "register": "Take a server that was built elsewhere for measuring, by its pg_config; "
        "print...",
    },
    "Measure and show": {
        "doctor": "Is this machine fit to measure: what was seen, what it means, how to mend it.",
        "run": "Build every REF, then measure them interleaved; what is recorded is not...",
        "study": "Measure the study NAME, interleaved, and report it: tables, plots and raw data.",
        "show": "Go from a dot to its runs: numbers, raw records, provenance.",
        "publish": "Derive asv's result files from the records and publish the site, in one step.",
        "preview": "Serve the published site to this machine's browser, until Ctrl-C.",
    },
    "Decide": {
        "steps": "Where did a series change its level: between which two, by how much, how sure.",
        "confirm": "Put steps of a trend to the test: compare their two sides on fresh samples.",
        "compare": "Say which of two or more servers is faster: FASTER, SLOWER, SAME or UNDECIDED.",
        "explain": "Say in which functions B executes more or fewer instructions per "
        "transaction...",
        "bisect": "Find what made BAD slower than GOOD: a commit, a release; or that nothing did.",
        "ledger": "How often comparisons raise a false alarm, and how much variation is normal...",
    },
    "Farm": {
        "new": "Ask upstream what is new, and plan what to measure of it within a budget.",
        "results": "Results on a git branch of their own: fetch them, push what is new, carry...",
        "report": "Keep one GitHub issue for each confirmed regression: open, up to date, "
        "closed...",
    },
}


class _Verbs(click.Group):
    """The verbs, listed in sections in the order in which a person comes to need them.

    Together they import scipy, pyarrow, asv and matplotlib, which takes two seconds of a processor:
    the verb ``list`` is ``list_`` of landspeed/cli/list.py, imported when somebody asks for it.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all verbs."""
        del ctx
        return [name for verbs in SECTIONS.values() for name in verbs]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb that is called so, its module imported; None if there is none."""
        if cmd_name not in self.list_commands(ctx):
            return None
        verb: click.Command = getattr(import_module(f"landspeed.cli.{cmd_name}"), f"{cmd_name}_")
        return verb

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one section of help after the other."""
        del ctx
        for title, verbs in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(list(verbs.items()))


@click.group(
    cls=_Verbs,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        # any option by the environment, for workflows: LANDSPEED_BISECT_METRIC is bisect's --metric
        "auto_envvar_prefix": "LANDSPEED",
    },
    epilog="Every verb has examples: landspeed VERB --help. REF is a major (18), a release "
    "(17.11), a tag, or with a git upstream a branch or commit; REF:VARIANT adds a build "
    "variant (18:bs4).",
)
@click.version_option(package_name="landspeed", allow_from_autoenv=False)
def cli() -> None:
    """Measure the land speed of an elephant: performance trends of PostgreSQL, 8.3 to current."""
    install_log_handler()


def _terminated(number: int, frame: object) -> None:
    # a service manager's SIGTERM is Ctrl-C by another name: clusters stop, state stays whole
    del frame
    raise KeyboardInterrupt(signal.Signals(number).name)


def main() -> None:
    """The console script: runs a verb, ends with its exit code."""
    signal.signal(signal.SIGTERM, _terminated)
    # Of the objects that a million rows become none is garbage: looking through them for cycles,
    # as often as Python does, took a sixth of the time of publishing.
    gc.set_threshold(100_000, 50, 50)
    print_no_commands()
    try:
        cli(standalone_mode=False)
    except LandspeedError as error:
        say(str(error))
        sys.exit(error.exit_code)
    except click.ClickException as error:
        say(str(_as_usage_error(error)))
        sys.exit(UsageError.exit_code)
    except (KeyboardInterrupt, click.Abort):
        say("interrupted: what was built and measured is kept, the same command goes on from here")
        sys.exit(_INTERRUPTED)
    except BrokenPipeError:
        # the reader of our stdout left: nobody to tell, and Python must not try at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def _as_usage_error(error: click.ClickException) -> UsageError:
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "landspeed"
    message = error.format_message().rstrip(".")
    return UsageError(message[:1].lower() + message[1:], hint=f'Try "{path} --help".')


if __name__ == "__main__":
    main()
