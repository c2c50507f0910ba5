"""How a server would be built and what a preset would measure of it; nothing is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from base.build import Origin
from benchmarks.applicability import counted_cells, planned_cells
from benchmarks.machine.machine import Machine
from benchmarks.workloads.metrics import INSTRUCTIONS, LATENCY
from benchmarks.workloads.scenario import Planned, Preset, Tier
from builders.builder import Builder
from builders.docker.container import Container
from builders.recipe import Recipe, recipe
from builders.recipe_table import BuildSystem
from landspeed.sampling.rounds import OVERHEAD_SECONDS, counting_seconds
from landspeed.session.target import Target


@dataclass(frozen=True, kw_only=True)
class BuildPlan:
    """How one target would be built.

    ``origin``, ``identifier`` and ``prefix`` are None while the source is not on this machine.
    ``identifier`` and ``prefix`` are also None for a build in a container.
    """

    target: Target
    origin: Origin | None
    identifier: str | None
    prefix: Path | None
    is_built: bool
    toolchain: Mapping[str, str]
    recipe: Recipe

    @classmethod
    def of(cls, builder: Builder, target: Target, system: BuildSystem | None) -> BuildPlan:
        """Plan the build of *target* by *system*, or by the default one of its release."""
        version, source = builder.sources.look_up(target.ref)
        sandbox, identifier = builder.sandbox, None
        if source is None:
            planned = recipe(version, target.variant, system)
        else:
            planned = builder.recipe(source, target.variant, system)
        if isinstance(sandbox, Container):
            # its image is part of the identity, and making the image takes minutes
            toolchain = sandbox.commands(target.variant)
        else:
            toolchain = sandbox.toolchain(target.variant)
            identifier = builder.identifier(source, planned) if source else None
        return cls(
            target=target,
            origin=source.origin if source else None,
            identifier=identifier,
            prefix=builder.store.root / identifier if identifier else None,
            is_built=identifier is not None and builder.store.find(identifier) is not None,
            toolchain=toolchain,
            recipe=planned,
        )

    def facts(self) -> dict[str, Any]:
        """Return the plan as JSON can hold it."""
        return {
            "target": str(self.target),
            "identifier": self.identifier,
            "prefix": str(self.prefix) if self.prefix else None,
            "is_built": self.is_built,
            "origin": vars(self.origin) if self.origin else None,
            "toolchain": dict(self.toolchain),
            "recipe": self.recipe.facts(),
        }


@dataclass(frozen=True, kw_only=True)
class MeasurementPlan:
    """What ``preset`` would measure of so many ``builds`` on ``machine``, which is this one.

    The data of servers lie in ``root``. ``scales`` replace the machine's scale factors.
    """

    machine: Machine
    root: Path
    preset: Preset
    scales: Mapping[Tier, int]
    builds: int
    counted: bool = False

    @cached_property
    def cells(self) -> list[Planned]:
        """Every cell, possible or not."""
        plan = counted_cells if self.counted else planned_cells
        return plan(self.preset, self.machine, self.root, self.scales)

    @property
    def samples(self) -> int:
        """Samples of each point. A count repeats exactly, so one is enough."""
        return 1 if self.counted else self.preset.samples

    @property
    def runs(self) -> int:
        """Runs of all builds in the cells that are possible here."""
        return sum(p.reason is None for p in self.cells) * self.builds * self.samples

    @property
    def seconds(self) -> float:
        """Estimated seconds that the runs take, without the builds."""
        if self.counted:
            return counting_seconds(self.runs, self.machine.cores)
        return self.runs * (self.preset.seconds + OVERHEAD_SECONDS)

    def facts(self) -> dict[str, Any]:
        """Return the plan as JSON can hold it."""
        cores = self.machine.cores
        return {
            "metric": INSTRUCTIONS if self.counted else LATENCY,
            "preset": self.preset.name,
            "description": self.preset.description,
            "samples": self.samples,
            "seconds": self.preset.seconds,
            "machine": self.machine.facts(),
            "cells": [p.cell.facts(cores) | {"not_applicable": p.reason} for p in self.cells],
            "runs": self.runs,
            "about_seconds": round(self.seconds),
        }
