"""The command line: verbs, their help, and the one place where an error becomes an exit code."""

from __future__ import annotations

import gc
import os
import signal
import sys

import click

from base.errors import LandspeedError, UsageError
from landspeed import build_verbs, measure_verbs
from landspeed.actions import print_no_commands
from landspeed.bisect_verb import bisect_
from landspeed.compare_verb import compare_
from landspeed.confirm_verb import confirm_
from landspeed.explain_verb import explain
from landspeed.ledger_verb import ledger_
from landspeed.new_verb import new_
from landspeed.progress import say
from landspeed.report_verb import report_
from landspeed.results_verb import results_
from landspeed.steps_verb import steps_
from landspeed.study_verb import study_

_INTERRUPTED = 130  # what a shell calls a command that SIGINT ended
_SECTIONS: dict[str, tuple[click.Command, ...]] = {
    "Build": (
        build_verbs.list_,
        build_verbs.plan,
        build_verbs.build,
        build_verbs.verify,
        build_verbs.matrix,
        build_verbs.register,
    ),
    "Measure and show": (
        measure_verbs.doctor,
        measure_verbs.run,
        study_,
        measure_verbs.show,
        measure_verbs.publish,
        measure_verbs.preview,
    ),
    "Decide": (steps_, confirm_, compare_, explain, bisect_, ledger_),
    "Farm": (new_, results_, report_),
}


class _Verbs(click.Group):
    """The verbs, listed in sections in the order in which a person comes to need them."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one section of help after the other."""
        del ctx
        for title, verbs in _SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(verb.name or "", verb.get_short_help_str(80)) for verb in verbs]
                )


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


for verbs in _SECTIONS.values():
    for verb in verbs:
        cli.add_command(verb)


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
