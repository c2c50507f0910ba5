"""Options that most verbs share, and how data leaves on stdout."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from itertools import product
from typing import Any

import click
from click.core import ParameterSource

from base.build import Compiler, Variant, parse_flags
from base.errors import UsageError, VariantError
from benchmarks.machine.cgroup import Cgroup
from benchmarks.workloads.metrics import INSTRUCTIONS, LATENCY, METRICS, Metric
from builders.recipe_table import BuildSystem
from landspeed.console.github_log import put_outputs
from landspeed.console.params import parse_duration, parse_memory, parse_share, spell_duration
from landspeed.farm.runners import runner_labels
from landspeed.session.session import Session

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
_JSON = "landspeed.json"
json_option = click.option(
    "--json",
    is_flag=True,
    expose_value=False,
    callback=lambda context, _, value: context.meta.update({_JSON: value}),
    help="Print JSON on stdout.",
)
"""--json, which no command receives: `emit_either` and `emit_json` obey it."""
system_option = click.option(
    "--build-system",
    type=click.Choice([s.value for s in BuildSystem]),
    help="Build system to use; by default meson where the release has it.",
)
metric_option = click.option(
    "--metric",
    type=click.Choice([LATENCY, INSTRUCTIONS]),
    default=LATENCY,
    show_default=True,
    help="Measure the time (latency and tps), or count instructions.",
)
any_metric_option = click.option(
    "--metric",
    type=click.Choice([metric.name for metric in METRICS]),
    default=LATENCY,
    show_default=True,
    help="All metrics but latency and tps are counted exactly, on any machine.",
)


def together(*options: Decorator) -> Decorator:
    """Return a decorator that adds *options* in the order of the help."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def packed(names: Iterable[str], name: str, pack: Callable[..., Any]) -> Decorator:
    """Return what gives a command *name*, made by *pack*, instead of the parameters *names*.

    It stands after the options of these parameters.
    """

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def call(**given: Any) -> Any:
            own = {one: given.pop(one) for one in names}
            return command(**{name: pack(**own)}, **given)

        return call

    return add


def flag(option: str, text: str, name: str | None = None) -> Decorator:
    """Return an option without a value; the command receives it as *name*, if it has one."""
    return click.option(*filter(None, (option, name)), is_flag=True, help=text)


def number_option(option: str, text: str, default: int | None = None) -> Decorator:
    """Return an option whose value is a whole number, at least 1."""
    kind = click.IntRange(1)
    return click.option(
        option, type=kind, metavar="N", default=default, show_default=True, help=text
    )


def share_option(option: str, text: str, default: str | None = None) -> Decorator:
    """Return an option whose value is a share, such as 1% or 0.01."""
    return click.option(
        option, type=parse_share, metavar="SHARE", default=default, show_default=True, help=text
    )


fresh_option = flag("--fresh", "Start again instead of resuming; records are kept.")
jobs_option = number_option(
    "--jobs",
    "Number of builds made at the same time; by default the number of cores. All builds together "
    "use every core once.",
)
dry_run_option = flag("--dry-run", "Check the request and show what would be done; do nothing.")


def budget_option(default: str | None, text: str) -> Callable[..., Any]:
    """Return --budget, a duration in seconds; *text* says what the time is for."""
    return click.option(
        "--budget",
        type=parse_duration,
        metavar="DURATION",
        default=default,
        show_default=True,
        help=f"{text}, such as 90s or 1h30min.",
    )


class ConfigurationOption(click.Option):
    """--configuration, which is also accepted under its old name --profile."""

    def __init__(self, declarations: Sequence[str], **given: Any) -> None:
        super().__init__([*declarations, "--configuration", "--profile"], **given)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the help without the old name."""
        record = super().get_help_record(ctx)
        return record and (record[0].replace(", --profile", ""), record[1])


# Of each key of a variant: type, default, metavar and help.
_KEYS: dict[str, tuple[Any, Any, str | None, str]] = {
    "blocksize": (int, 8, "K", "Block size in kB"),
    "wal_blocksize": (int, 8, "K", "WAL block size in kB"),
    "segsize": (int, 1, "G", "Segment size in GB"),
    "compiler": (click.Choice([c.value for c in Compiler]), "gcc", None, "Compiler"),
    "flags": (str, "O2", "FLAGS", "O2, or some of O3, native and lto, such as O3-lto"),
}


def _key_options(*, multiple: bool) -> list[Decorator]:
    return [
        click.option(
            f"--{name.replace('_', '-')}",
            type=kind,
            default=None if multiple else default,
            show_default=not multiple,
            multiple=multiple,
            metavar=metavar,
            help=f"{text}; may be repeated." if multiple else f"{text}.",
        )
        for name, (kind, default, metavar, text) in _KEYS.items()
    ]


def _variant(*, compiler: str, flags: str, **sizes: int) -> Variant:
    try:
        return Variant(**sizes, compiler=Compiler(compiler), flags=parse_flags(flags.split("-")))
    except ValueError:
        raise VariantError(
            f'"{flags}" are not flags of a build variant',
            hint="Give O2, the default, or some of O3, native and lto, like O3-lto.",
        ) from None


def _variants(**given: Sequence[Any]) -> list[Variant]:
    keys = {name: given[name] or [key[1]] for name, key in _KEYS.items()}
    return [_variant(**dict(zip(keys, one, strict=True))) for one in product(*keys.values())]


variant_options = together(*_key_options(multiple=False), packed(_KEYS, "variant", _variant))
"""An option for each key of a variant; the command receives ``variant``."""
variants_options = together(*_key_options(multiple=True), packed(_KEYS, "variants", _variants))
"""The same options, repeatable; the command receives all combinations as ``variants``."""


def emit(text: str) -> None:
    """Print data on stdout."""
    click.echo(text)


def as_json() -> bool:
    """Return whether --json was given."""
    return bool(click.get_current_context().meta[_JSON])


def emit_either(text: str, facts: Any) -> None:
    """Print data on stdout: *facts* as JSON if --json was given, or else *text*."""
    if as_json():
        emit_json(facts)
    else:
        emit(text)


def emit_json(value: Any) -> None:
    """Print data as JSON on stdout, if --json was given."""
    if as_json():
        # a runner of GitHub Actions takes ##[ for a command; the escape means the same in JSON
        emit(json.dumps(value, indent=2, ensure_ascii=False).replace("##[", "#\\u0023["))


def show_dry_run(text: str, facts: Mapping[str, Any], metric: Metric | None = None) -> None:
    """Print what would be done: *text*, or *facts* as JSON.

    With *metric*, *facts* and the labels of the runner that measures it become step outputs.
    """
    if metric is not None:
        facts = {"runner": runner_labels(metric), **facts}
        put_outputs(facts)
    emit_either(text, facts)


memory_option = click.option(
    "--memory",
    type=parse_memory,
    metavar="SIZE",
    help="Run servers under a memory limit, such as 512m or 1g; tiers are sized by it.",
)


def given() -> list[str]:
    """Return the names of the parameters that were given on the command line."""
    context = click.get_current_context()
    sources = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)
    return [name for name in context.params if context.get_parameter_source(name) in sources]


def typed_command() -> str:
    """Return the command line as it can be typed again."""
    context, typed = click.get_current_context(), given()
    words = ["landspeed", str(context.info_name)]
    for parameter in context.command.params:
        if parameter.name not in typed or parameter.name in ("fresh", "mail"):
            continue
        value: Any = context.params.get(parameter.name)
        for one in value if isinstance(value, tuple) else [value]:
            if isinstance(parameter, click.Option):
                words.append(parameter.opts[0])
            if one is not True:
                words.append(spell_duration(one) if parameter.name == "budget" else str(one))
    return shlex.join(words)


def require_none_of(names: Iterable[str], option: str) -> None:
    """UsageError if one of the options *names* was given, which do not go with *option*."""
    parameters = click.get_current_context().command.params
    if wrong := [one.opts[-1] for one in parameters if one.name in names and one.name in given()]:
        raise UsageError(
            f"{option} does not go with {wrong[0]}",
            detail="It counts the instructions of workloads of the catalog.",
            hint="Leave it out; --suite and --workload choose what is counted.",
        )


def open_session(memory: int | None, *, counted: bool) -> Session:
    """Return the session of servers under a limit of *memory* bytes; see `require_limit`."""
    require_limit(memory, counted=counted)
    return Session.open(memory=memory, only_counts=counted)


def require_limit(memory: int | None, *, counted: bool) -> None:
    """Check before the first build that the memory of a server can be limited here.

    UsageError if instructions are *counted*, which memory does not change; NotApplicableError
    if no cgroup can be made.
    """
    if memory is None:
        return
    if counted:
        raise UsageError(
            "a memory limit does not change what is counted",
            hint="Leave out --memory, or choose --metric latency.",
        )
    Cgroup.make(f"try-{os.getpid()}", memory).remove()


def read_json(path: str, hint: str) -> Any:
    """Return the JSON in the file at *path*, - for stdin; None if the file is empty.

    UsageError with *hint* if it is no JSON.
    """
    try:
        with click.open_file(path) as stream:
            text = stream.read()
        return json.loads(text) if text.strip() else None
    except OSError as error:
        raise UsageError(f'could not read "{path}"', detail=str(error.strerror)) from error
    except ValueError as error:
        raise UsageError(f'"{path}" is not JSON', detail=str(error), hint=hint) from error
