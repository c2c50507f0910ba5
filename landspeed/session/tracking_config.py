"""What is tracked: the ``[track]`` table of landspeed.toml, which the environment outranks."""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from base.build import Variant
from base.errors import UsageError
from base.version import VersionRange
from benchmarks.workloads.scenario import Mode, Preset, preset_named
from landspeed.console.params import parse_duration

_MACHINE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PATTERN = re.compile(r"[A-Za-z0-9_*?./-]+")


class ResultsKind(StrEnum):
    """A Keep is the kind of place where a farm's results stay."""

    BRANCH = "branch"
    ARTIFACT = "artifact"
    DIRECTORY = "directory"


@dataclass(frozen=True, kw_only=True)
class TrackingConfig:
    """What a farm tracks, and how much of it in one run of its workflow.

    ``branches`` are patterns such as REL_*_STABLE, each tracked ``depth`` commits back.
    ``releases`` is the oldest major whose release tags are tracked, empty for none. Commits and
    releases are built in ``variants`` and measured with ``preset`` (with ``modes``, if any, in
    place of its own): counted on any machine, and timed on each of ``machines``. One run takes
    ``budget`` on each machine. ``keep`` says where results are stored, and ``directory`` which
    directory that is if ``keep`` is "directory".
    """

    branches: tuple[str, ...] = ("master",)
    depth: int = 200
    releases: str = ""
    variants: tuple[str, ...] = ("bs8",)
    preset: str = "quick"
    modes: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()
    budget: str = "2h"
    keep: str = "branch"
    directory: str = ""

    def __post_init__(self) -> None:
        try:
            self._check()
        except ValueError as error:
            raise _invalid(str(error)) from error

    def _check(self) -> None:
        for variant in self.variants:
            Variant.parse(variant)
        preset_named(self.preset)
        parse_duration(self.budget)
        kinds = [kind.value for kind in ResultsKind]
        if self.keep not in kinds:
            raise ValueError(f'keep is "{self.keep}" instead of one of {", ".join(kinds)}')
        if (
            ResultsKind(self.keep) is ResultsKind.DIRECTORY
            and not Path(self.directory).is_absolute()
        ):
            raise ValueError(f'"{self.directory}" is not the full path of a directory to keep in')
        for mode in self.modes:
            Mode(mode)
        if self.releases:
            VersionRange.parse(since=self.releases)
        if self.depth < 1:
            raise ValueError(f"a depth of {self.depth} is no commit at all")
        wrong = [name for name in self.machines if not _MACHINE.fullmatch(name)]
        wrong += [name for name in self.branches if not _PATTERN.fullmatch(name)]
        if wrong:
            raise ValueError(f'"{wrong[0]}" is no name of a machine, or no pattern of branches')

    @classmethod
    def load(cls, path: Path) -> Self:
        """What *path* says in [track], then $LANDSPEED_TRACK_<KEY>; a list as words with spaces.

        UsageError for what cannot be.
        """
        try:
            document = tomllib.loads(path.read_text())
        except FileNotFoundError:
            document = {}
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UsageError(f'"{path}" is not valid TOML', detail=str(error)) from error
        table = document.get("track", {})
        unknown = set(table) - {field.name for field in fields(cls)}
        if unknown:
            raise _invalid(f"unknown key {min(unknown)}")
        return cls(**{name: _typed(name, value) for name, value in (table | _told()).items()})

    @property
    def measured(self) -> Preset:
        """The Preset, with the modes that are tracked."""
        preset = preset_named(self.preset)
        return replace(preset, modes=tuple(map(Mode, self.modes))) if self.modes else preset

    @property
    def seconds(self) -> float:
        """The budget."""
        return parse_duration(self.budget)


def _told() -> dict[str, str]:
    """What the environment says; a variable that is empty is one that a workflow left out."""
    names = {
        field.name: f"LANDSPEED_TRACK_{field.name.upper()}" for field in fields(TrackingConfig)
    }
    return {name: value for name, variable in names.items() if (value := os.environ.get(variable))}


def _typed(name: str, value: Any) -> Any:
    default = next(field.default for field in fields(TrackingConfig) if field.name == name)
    try:
        if isinstance(default, tuple):
            words = value.split() if isinstance(value, str) else value
            return tuple(str(word) for word in words)
        return int(value) if isinstance(default, int) else str(value)
    except (TypeError, ValueError):
        raise _invalid(f"{name} cannot be {value!r}") from None


def _invalid(why: str) -> UsageError:
    return UsageError(
        "what to track cannot be understood",
        detail=why,
        hint="Correct [track] in landspeed.toml, or LANDSPEED_TRACK_… in the environment.",
    )
