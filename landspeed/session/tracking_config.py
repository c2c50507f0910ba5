"""What a farm tracks: the ``[track]`` table of landspeed.toml, outranked by the environment."""

from __future__ import annotations

import re
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_settings import SettingsConfigDict

from base.build import Variant
from base.errors import UsageError
from base.typed import problem
from base.version import VersionRange
from benchmarks.workloads.scenario import Mode, Preset, preset_named
from builders.config import EnvironmentFirst, Words, read_table
from landspeed.console.params import parse_duration

_MACHINE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PATTERN = re.compile(r"[A-Za-z0-9_*?./-]+")


class ResultsKind(StrEnum):
    """Where the results of a farm are kept."""

    BRANCH = "branch"
    ARTIFACT = "artifact"
    DIRECTORY = "directory"


class TrackingConfig(BaseModel):
    """What a farm tracks, and how much of it in one run of its workflow.

    ``branches`` are patterns such as REL_*_STABLE, each tracked ``depth`` commits back.
    ``releases`` is the oldest major whose release tags are tracked, empty for none. Commits and
    releases are built in ``variants`` and measured with ``preset`` (with ``modes``, if any, in
    place of its own): counted on any machine, and timed on each of ``machines``. One run takes
    ``budget`` on each machine. ``keep`` says where results are stored, and ``directory`` which
    directory that is if ``keep`` is "directory".
    """

    model_config = ConfigDict(frozen=True, extra="forbid", coerce_numbers_to_str=True)

    branches: Words = ("master",)
    depth: int = 200
    releases: str = ""
    variants: Words = ("bs8",)
    preset: str = "quick"
    modes: Words = ()
    machines: Words = ()
    budget: str = "2h"
    keep: str = "branch"
    directory: str = ""

    @model_validator(mode="after")
    def _check(self) -> Self:
        for variant in self.variants:
            Variant.parse(variant)
        preset_named(self.preset)
        parse_duration(self.budget)
        kinds = [kind.value for kind in ResultsKind]
        if self.keep not in kinds:
            raise ValueError(f'keep is "{self.keep}" instead of one of {", ".join(kinds)}')
        if self.keep == ResultsKind.DIRECTORY and not Path(self.directory).is_absolute():
            raise ValueError(f'directory "{self.directory}" is not the full path of a directory')
        for mode in self.modes:
            Mode(mode)
        if self.releases:
            VersionRange.parse(since=self.releases)
        if self.depth < 1:
            raise ValueError(f"depth must be at least 1, not {self.depth}")
        for name in self.machines:
            if not _MACHINE.fullmatch(name):
                raise ValueError(f'"{name}" is not the name of a machine')
        for name in self.branches:
            if not _PATTERN.fullmatch(name):
                raise ValueError(f'"{name}" is not a pattern of branches')
        return self

    @classmethod
    def load(cls, path: Path, **options: Any) -> Self:
        """Return [track] of *path*; $LANDSPEED_TRACK_<KEY> outranks it, a list as words.

        *options* of the command line that are not empty outrank both. Raises UsageError.
        """
        try:
            settings = _TrackingSettings(**read_table(path, "track")).model_dump()
            return cls(**settings | {name: value for name, value in options.items() if value})
        except ValidationError as error:
            raise UsageError(
                "invalid settings of what to track",
                detail=problem(error),
                hint="Correct [track] in landspeed.toml, or LANDSPEED_TRACK_… in the environment.",
            ) from error

    @property
    def measured(self) -> Preset:
        """The preset, with the modes that are tracked."""
        preset = preset_named(self.preset)
        return replace(preset, modes=tuple(map(Mode, self.modes))) if self.modes else preset

    @property
    def seconds(self) -> float:
        """The budget in seconds."""
        return parse_duration(self.budget)


class _TrackingSettings(TrackingConfig, EnvironmentFirst):
    model_config = SettingsConfigDict(env_prefix="LANDSPEED_TRACK_")
