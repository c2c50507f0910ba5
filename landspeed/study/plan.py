"""Plan a study: what a campaign measures on this machine, and what that takes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

from base.build import Variant
from base.errors import LandspeedError, SourceError, UsageError, VariantError
from base.version import Version
from benchmarks.applicability import planned_cells
from benchmarks.clients.sysbench import sysbench_mode
from benchmarks.server.configuration import Configuration
from benchmarks.server.topology import server_count, topology_reason
from benchmarks.workloads.custom_scripts import Script
from benchmarks.workloads.scenario import (
    BACKEND_BYTES,
    AnyMode,
    Cell,
    Mode,
    Planned,
    Preset,
    Protocol,
    Tier,
    mode_named,
)
from benchmarks.workloads.sysbench_modes import SYSBENCH_SCRIPTS
from builders.recipe import recipe
from landspeed.campaign.campaign import Request
from landspeed.campaign.disk import DiskEstimate
from landspeed.sampling.rounds import OVERHEAD_SECONDS
from landspeed.session.session import Session
from landspeed.session.target import Target
from landspeed.study.ablation import Ablation, spelled
from landspeed.study.request import StudyRequest
from landspeed.study.schema import (
    DIRECT,
    DIRECTORY,
    DISK,
    MAJORS,
    REGISTERED,
    SINGLE,
    VANILLA,
    Axes,
    Part,
    Study,
    client_counts,
)

# CPU seconds of compiling a release with a cold cache: between 8.3's 100 and 18's 290.
_BUILD_CPU_SECONDS = 250.0
_GIVE_SETTINGS = '"--setting NAME=VALUE" gives one; it may be repeated'


@dataclass(frozen=True, kw_only=True)
class Skipped:
    """Something that a study cannot measure here, with the reason and the remedy."""

    part: str
    what: str
    reason: str

    def __str__(self) -> str:
        return f"{self.part}: {self.what}: {self.reason}"


@dataclass(frozen=True, kw_only=True)
class PlannedPart:
    """A part of a study on this machine: the campaign's request, and all of its cells.

    ``ablation`` is the experiment on settings that its configurations make up.
    """

    part: Part
    ablation: Ablation
    request: Request
    cells: tuple[Planned, ...]


@dataclass(frozen=True, kw_only=True)
class StudyPlan:
    """A study of one size on this machine; ``skipped`` is what cannot be measured here."""

    name: str
    study: Study
    request: StudyRequest
    parts: tuple[PlannedPart, ...]
    skipped: tuple[Skipped, ...]

    @property
    def preset(self) -> Preset:
        """The preset of the first part; all share name, repeats and seconds."""
        return self.parts[0].request.preset


def plan_study(session: Session, name: str, study: Study, request: StudyRequest) -> StudyPlan:
    """Plan *study*, called *name*.

    UsageError if nothing of it can be measured here, RefError for an unknown REF.
    """
    planner = _Planner(session=session, name=name, study=study, request=request)
    planner.refuse_unused_settings()
    parts: list[PlannedPart] = []
    skipped: list[Skipped] = []
    for part in study.part:
        if request.size not in part.sizes:
            continue
        targets, unfit = planner.targets(part)
        skipped += unfit
        ablation = planner.ablation(part, targets)
        preset = planner.preset(part, ablation)
        if targets and preset.profiles:
            scales = {**study.amount(request.size).scales, **request.scales}
            asked = Request(targets=targets, preset=preset, scales=scales)
            cells = planned_cells(preset, session.machine, session.paths.server_root, scales)
            planned = PlannedPart(part=part, ablation=ablation, request=asked, cells=tuple(cells))
            parts.append(planned)
        elif targets:
            skipped.append(
                Skipped(part=part.name, what="no setting is given", reason=_GIVE_SETTINGS)
            )
    if not any(cell.reason is None for part in parts for cell in part.cells):
        reasons = [cell.reason for part in parts for cell in part.cells if cell.reason]
        raise UsageError(
            f'nothing of study "{name}" can be measured here',
            detail="\n".join(dict.fromkeys([*map(str, skipped), *reasons])),
            hint="Provide what is missing, or choose other REFs or axes.",
        )
    skipped = list(dict.fromkeys(skipped))
    return StudyPlan(
        name=name, study=study, request=request, parts=tuple(parts), skipped=tuple(skipped)
    )


@dataclass(kw_only=True)
class _Planner:
    """Plans the parts of one study."""

    session: Session
    name: str
    study: Study
    request: StudyRequest

    @cached_property
    def scripts(self) -> dict[str, Script]:
        """The study's scripts by name."""
        directory, tables = self.session.paths.project / DIRECTORY, self.study.script
        if self.request.files and len(tables) != 1:
            raise UsageError(
                f'study "{self.name}" does not have exactly one script to replace',
                hint='"landspeed study custom" has one.',
            )
        return {one.name: one.read(directory, self.request.files) for one in tables}

    def axes(self, part: Part) -> dict[str, Any]:
        """Return the values on each axis of *part*; its size overrides it, the request both."""
        own = {name: v for name, v in part.given().items() if name in Axes.model_fields}
        return own | self.study.amount(self.request.size).axes.given() | self.request.axes.given()

    def refuse_unused_settings(self) -> None:
        """Raise UsageError if settings were given that no part uses."""
        asking = (p for p in self.study.part if p.with_settings or self.ablation(p, ()).is_asked)
        if self.request.settings and not any(asking):
            raise UsageError(
                f'study "{self.name}" does not use settings',
                detail="No configuration of its parts, or of those that were given, takes any.",
                hint='"tuned" finds which of them cause a gain, "forks" applies them to a fork.',
            )

    def ablation(self, part: Part, targets: Iterable[Target]) -> Ablation:
        """Return the experiment on settings of *part* for *targets*."""
        words = self.axes(part).get("profiles", ("default",))
        given = () if part.with_settings else self.request.settings
        return Ablation.of(words, given, self._versions(targets))

    def preset(self, part: Part, ablation: Ablation) -> Preset:
        """Return the preset of *part* with the configurations of *ablation*.

        It has no configurations if the part needs settings and none were given.
        """
        axes, amount, request = self.axes(part), self.study.amount(self.request.size), self.request
        profiles = ablation.profiles
        if part.with_settings:
            extra = spelled(request.settings)
            profiles = tuple(f"{one}{extra}" for one in profiles) if extra else ()
        combinations = product(
            profiles,
            axes.get("storages", (DISK,)),
            axes.get("topologies", (SINGLE,)),
            axes.get("poolers", (DIRECT,)),
        )
        modes = axes.get("modes", (Mode.READ_ONLY,))
        return Preset(
            name=f"{self.name}-{request.size}",
            description=self.study.title,
            modes=tuple(map(self._mode, modes)),
            protocols=axes.get("protocols", (Protocol.PREPARED,)),
            tiers=axes.get("tiers", (Tier.SMALL,)),
            client_counts=client_counts(axes.get("clients", (1,)), self.session.machine.cores),
            samples=request.repeats or amount.repeats,
            seconds=request.seconds or amount.seconds,
            profiles=tuple(_configuration(*how) for how in combinations),
        )

    def _mode(self, word: str) -> AnyMode:
        """Return the mode or script *word*; UsageError if this study has none of that name."""
        script = self.scripts.get(word)
        if script is not None:
            return script
        if word in SYSBENCH_SCRIPTS:
            return sysbench_mode(word)
        try:
            return mode_named(word)
        except UsageError as error:
            known = ", ".join([*Mode, *SYSBENCH_SCRIPTS, *self.scripts])
            raise UsageError(
                f'study "{self.name}" has no mode "{word}"',
                hint=f"Its modes: {known}, and the workloads of the catalog.",
            ) from error

    def targets(self, part: Part) -> tuple[list[Target], list[Skipped]]:
        """Return the targets of *part*, and those that are not available."""
        axes = self.axes(part)
        found: list[Target] = []
        skipped: list[tuple[str, str]] = []
        variants = [Variant.parse(word) for word in axes.get("variants", ("bs8",))]
        for ref in axes.get("refs", ()):
            words, unfit = self._refs(ref)
            skipped += unfit
            for word, variant in product(words, variants):
                target = Target.parse(word, variant)
                if part.only_registered and target.registered is None:
                    continue
                several = set(axes.get("topologies", (SINGLE,))) != {SINGLE}
                reason = self._unfit(target, several=several)
                if reason is None:
                    found.append(target)
                else:
                    skipped.append((str(target), reason))
        return list(dict.fromkeys(found)), [
            Skipped(part=part.name, what=what, reason=reason) for what, reason in skipped
        ]

    def _versions(self, targets: Iterable[Target]) -> set[Version]:
        """Return the versions of *targets*."""
        servers, sources = self.session.external_servers, self.session.builder.sources
        return {
            servers.find(t.registered).version if t.registered else sources.look_up(t.ref)[0]
            for t in targets
        }

    def _refs(self, ref: str) -> tuple[list[str], list[tuple[str, str]]]:
        """Return the REFs that *ref* stands for, and what is not available of them and why."""
        if ref == MAJORS:
            return self._majors()
        if ref not in (REGISTERED, VANILLA):
            return [ref], []
        builds = self.session.external_servers.all()
        if not builds:
            reason = '"landspeed build --from PG_CONFIG --name NAME" registers one'
            return [], [("no server is registered", reason)]
        names = [b.origin.name if ref == REGISTERED else b.version.major_text for b in builds]
        return list(dict.fromkeys(names)), []

    def _majors(self) -> tuple[list[str], list[tuple[str, str]]]:
        """Return the newest available release of every major version, oldest first."""
        newest: dict[str, str] = {}
        out_of_reach: dict[str, tuple[str, str]] = {}
        for status in self.session.builder.sources.statuses():
            major = status.version.major_text
            if status.is_here or status.is_reachable:
                newest[major] = str(status.version)
            else:
                reason = "; ".join(status.reach) or "it has no known source"
                out_of_reach[major] = (str(status.version), reason)
        return list(newest.values()), [v for m, v in out_of_reach.items() if m not in newest]

    def _unfit(self, target: Target, *, several: bool) -> str | None:
        """Return why *target* is not available; None if it is, as far as known before a build.

        With *several* it must be able to run as coordinator and workers.
        """
        try:
            if target.registered is not None:
                build = self.session.external_servers.find(target.registered)
                return topology_reason(build) if several else None
            if several:
                return topology_reason(None)
            version, _ = self.session.builder.sources.look_up(target.ref)
            recipe(version, target.variant)
        except (VariantError, SourceError) as error:
            return on_one_line(error)
        return None


def on_one_line(error: LandspeedError) -> str:
    """Return the message and the detail of *error* on one line."""
    return f"{error.message}. {error.detail}".strip().replace("\n", " ")


def _configuration(profile: str, storage: str, topology: str, pooler: str) -> str:
    on = "" if storage == DISK else f"-on-{storage}"
    across = "" if topology == SINGLE else f"-across-{topology}"
    via = "" if pooler == DIRECT else f"-via-{pooler}"
    return Configuration.named(f"{profile}{on}{across}{via}").name


def study_facts(session: Session, plan: StudyPlan) -> dict[str, Any]:
    """Return what *plan* measures, what that takes, and what it skips, for JSON."""
    machine, preset = session.machine, plan.preset
    targets = {t: _is_built(session, t) for p in plan.parts for t in p.request.targets}
    points = {
        (target, one.cell)
        for part in plan.parts
        for target in part.request.targets
        for one in part.cells
        if one.reason is None
    }
    runs = len(points) * preset.samples
    disk = DiskEstimate.of(session, points)
    builds = sum(not built for built in targets.values())
    seconds = (
        runs * (preset.seconds + OVERHEAD_SECONDS)
        + disk.load_seconds
        + builds * _BUILD_CPU_SECONDS / machine.cores
    )
    memory = max(_memory(cell, machine.memory_bytes) for _, cell in points)
    again = disk.reload_seconds(cell for _, cell in points for _ in range(preset.samples))
    return {
        "study": plan.name,
        "title": plan.study.title,
        "size": plan.request.size.value,
        "about": plan.request.about(plan.study.amount(plan.request.size)),
        "machine": machine.facts(),
        "seconds": preset.seconds,
        "repeats": preset.samples,
        "builds": {str(target): built for target, built in targets.items()},
        "parts": [_part_facts(part, machine.cores) for part in plan.parts],
        "left": [vars(one) for one in plan.skipped],
        "points": len(points),
        "runs": runs,
        "disk_bytes": disk.needed,
        "disk_room_bytes": disk.available,
        "disk": disk.text(again),
        "memory_bytes": memory,
        "about_seconds": round(seconds),
        "load_again_seconds": round(again),
    }


def _memory(cell: Cell, memory_bytes: int) -> int:
    """Return the bytes of memory that all servers of a run of *cell* plan to use."""
    profile = Configuration.named(cell.profile)
    each = profile.shared_buffers(memory_bytes) + cell.clients * BACKEND_BYTES
    return server_count(profile.topology) * each


def _part_facts(planned: PlannedPart, cores: int) -> dict[str, Any]:
    return {
        "name": planned.part.name,
        "targets": [str(target) for target in planned.request.targets],
        "ablation": planned.ablation.facts() if planned.ablation.is_asked else None,
        "cells": [one.cell.facts(cores) | {"not_applicable": one.reason} for one in planned.cells],
    }


def _is_built(session: Session, target: Target) -> bool:
    if target.registered is not None:
        return True
    _, source = session.builder.sources.look_up(target.ref)
    return source is not None and session.builder.find(source, target.variant) is not None
