"""What the verbs of the command line share: options, and the way data leaves on stdout."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import wraps
from itertools import product
from typing import Any

import click

from base.build import Compiler, Variant, parse_flags
from base.errors import VariantError
from benchmarks.workloads.metrics import INSTRUCTIONS, LATENCY
from builders.recipe_table import BuildSystem

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")


# Of each key of a variant: its type, its default, its metavar and its help.
_KEYS: dict[str, tuple[Any, Any, str | None, str]] = {
    "blocksize": (int, 8, "K", "Block size in kB"),
    "wal_blocksize": (int, 8, "K", "WAL block size in kB"),
    "segsize": (int, 1, "G", "Segment size in GB"),
    "compiler": (click.Choice([c.value for c in Compiler]), "gcc", None, "Compiler"),
    "flags": (str, "O2", "FLAGS", "O3, native and lto, like O3-lto"),
}


def variant_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """An option for each key of a Variant; the command is given the ``variant`` they make."""

    @wraps(command)
    def packed(**given: Any) -> Any:
        keys = {name: given.pop(name) for name in _KEYS}
        return command(variant=_variant(**keys), **given)

    return _with_keys(packed, multiple=False)


def variants_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The same, each of which may be repeated; the command is given all ``variants`` they make."""

    @wraps(command)
    def packed(**given: Any) -> Any:
        keys = {name: given.pop(name) or [_KEYS[name][1]] for name in _KEYS}
        each = [dict(zip(keys, values, strict=True)) for values in product(*keys.values())]
        return command(variants=[_variant(**one) for one in each], **given)

    return _with_keys(packed, multiple=True)


def _with_keys(command: Callable[..., Any], *, multiple: bool) -> Callable[..., Any]:
    for name, (kind, default, metavar, text) in reversed(_KEYS.items()):
        command = click.option(
            f"--{name.replace('_', '-')}",
            type=kind,
            default=None if multiple else default,
            show_default=not multiple,
            multiple=multiple,
            metavar=metavar,
            help=f"{text}; may be repeated." if multiple else f"{text}.",
        )(command)
    return command


def _variant(*, compiler: str, flags: str, **sizes: int) -> Variant:
    return Variant(**sizes, compiler=Compiler(compiler), flags=_flags(flags.split("-")))


def _flags(words: Sequence[str]) -> tuple[str, ...]:
    try:
        return parse_flags(words)
    except ValueError:
        raise VariantError(
            f'"{"-".join(words)}" are not flags of a build variant',
            hint="Give O2, the default, or some of O3, native and lto, like O3-lto.",
        ) from None


def system_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """--build-system."""
    return click.option(
        "--build-system",
        type=click.Choice([s.value for s in BuildSystem]),
        help="Build with this; by default meson where the release has it.",
    )(command)


def jobs_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """--jobs."""
    return click.option(
        "--jobs",
        type=click.IntRange(1),
        metavar="N",
        help="Builds made at once; together they compile on all cores, and no more. "
        "By default as many as there are cores.",
    )(command)


metric_option = click.option(
    "--metric",
    type=click.Choice([LATENCY, INSTRUCTIONS]),
    default=LATENCY,
    show_default=True,
    help="Take the time (latency, and tps with it), or count instructions.",
)


def emit(text: str) -> None:
    """Data, on stdout."""
    click.echo(text)


def emit_json(value: Any) -> None:
    """Data for a program, on stdout."""
    # an escape means the same, and leaves a runner of GitHub Actions nothing to take for a command
    emit(json.dumps(value, indent=2, ensure_ascii=False).replace("##[", "#\\u0023["))
