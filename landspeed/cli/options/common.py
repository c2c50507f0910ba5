"""Options that most verbs share: metrics, memory, build systems and build variants."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import click

from base.build import Compiler, Variant, parse_flags
from base.errors import VariantError
from benchmarks.workloads.metrics import INSTRUCTIONS, LATENCY, METRICS
from builders.recipe_table import BuildSystem
from landspeed.cli.options.kinds import Decorator, flag, number_option, packed, together
from landspeed.console.params import parse_memory

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


memory_option = click.option(
    "--memory",
    type=parse_memory,
    metavar="SIZE",
    help="Run servers under a memory limit, such as 512m or 1g; tiers are sized by it.",
)


fresh_option = flag("--fresh", "Start again instead of resuming; records are kept.")


jobs_option = number_option(
    "--jobs",
    "Number of builds made at the same time; by default the number of cores. All builds together "
    "use every core once.",
)


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
