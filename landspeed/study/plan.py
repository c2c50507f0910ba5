"""From a Study to what a Campaign measures, and what that will take on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

from base.build import Build, Variant
from base.errors import SourceError, UsageError, VariantError
from base.version import Version
from benchmarks.applicability import planned_cells
from benchmarks.clients.sysbench import oltp_of
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
)
from benchmarks.workloads.sysbench_modes import OLTPS
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
    rungs,
)

# CPU seconds of compiling a release with a cold cache: between 8.3's 100 and 18's 290.
_BUILD_CPU_SECONDS = 250.0
_GIVE_SETTINGS = '"--setting NAME=VALUE" gives one, as often as you like'


@dataclass(frozen=True, kw_only=True)
class Skipped:
    """A Left is what a Study cannot measure here, and the reason with what would bring it."""

    part: str
    what: str
    reason: str

    def __str__(self) -> str:
        return f"{self.part}: {self.what}: {self.reason}"


@dataclass(frozen=True, kw_only=True)
class PlannedPart:
    """A PlannedPart is a Part as it is measured here: what a Campaign is asked, and its Cells.

    ``ablation`` is what its profiles tell apart.
    """

    part: Part
    ablation: Ablation
    request: Request
    cells: tuple[Planned, ...]


@dataclass(frozen=True, kw_only=True)
class StudyPlan:
    """A StudyPlan is a Study of one size on this machine; ``left`` is what it leaves out."""

    name: str
    study: Study
    wish: StudyRequest
    parts: tuple[PlannedPart, ...]
    left: tuple[Skipped, ...]

    @property
    def requests(self) -> list[Request]:
        """What a Campaign is asked."""
        return [one.request for one in self.parts]

    @property
    def preset(self) -> Preset:
        """What all its Requests share: the name, the repeats and the seconds."""
        return self.parts[0].request.preset


def plan_study(session: Session, name: str, study: Study, wish: StudyRequest) -> StudyPlan:
    """The StudyPlan of *study*, called *name*; UsageError if nothing of it can be measured here.

    RefError for a REF that names nothing.
    """
    planner = _Planner(session=session, name=name, study=study, wish=wish)
    planner.refuse_settings_that_nobody_asks_for()
    parts: list[PlannedPart] = []
    left: list[Skipped] = []
    for part in study.part:
        if wish.size not in part.sizes:
            continue
        targets, unfit = planner.targets(part)
        left += unfit
        ablation = planner.ablation(part, targets)
        preset = planner.preset(part, ablation)
        if targets and preset.profiles:
            scales = {**study.amount(wish.size).scales, **wish.scales}
            request = Request(targets=targets, preset=preset, scales=scales)
            cells = planned_cells(preset, session.machine, session.paths.server_root, scales)
            planned = PlannedPart(part=part, ablation=ablation, request=request, cells=tuple(cells))
            parts.append(planned)
        elif targets:
            left.append(Skipped(part=part.name, what="no setting is given", reason=_GIVE_SETTINGS))
    if not any(cell.reason is None for part in parts for cell in part.cells):
        reasons = [cell.reason for part in parts for cell in part.cells if cell.reason]
        raise UsageError(
            f'nothing of study "{name}" can be measured here',
            detail="\n".join(dict.fromkeys([*map(str, left), *reasons])),
            hint="Bring what is missing, or name other REFs or axes.",
        )
    left = list(dict.fromkeys(left))
    return StudyPlan(name=name, study=study, wish=wish, parts=tuple(parts), left=tuple(left))


@dataclass(kw_only=True)
class _Planner:
    """What plans the Parts of one Study as one person wishes it on one machine."""

    session: Session
    name: str
    study: Study
    wish: StudyRequest

    @cached_property
    def scripts(self) -> dict[str, Script]:
        """The Study's scripts by name."""
        directory, tables = self.session.paths.project / DIRECTORY, self.study.script
        if self.wish.files and len(tables) != 1:
            raise UsageError(
                f'study "{self.name}" has no script that others could take the place of',
                hint='"landspeed study custom" has one.',
            )
        return {one.name: one.read(directory, self.wish.files) for one in tables}

    def axes(self, part: Part) -> dict[str, Any]:
        """The values on each axis of *part*: its own, then its size's, then the person's."""
        own = {name: v for name, v in part.given().items() if name in Axes.model_fields}
        return own | self.study.amount(self.wish.size).axes.given() | self.wish.axes.given()

    def refuse_settings_that_nobody_asks_for(self) -> None:
        """UsageError if a person gives settings that no Part does anything with."""
        asking = (p for p in self.study.part if p.with_settings or self.ablation(p, ()).is_asked)
        if self.wish.settings and not any(asking):
            raise UsageError(
                f'study "{self.name}" does not ask for settings',
                detail="Its profiles are others', or those that were given.",
                hint='"tuned" tells which of them carries a gain, "forks" gives them to a fork.',
            )

    def ablation(self, part: Part, targets: Iterable[Target]) -> Ablation:
        """What the profiles of *part* for *targets* tell apart."""
        words = self.axes(part).get("profiles", ("default",))
        given = () if part.with_settings else self.wish.settings
        return Ablation.of(words, given, self._versions(targets))

    def preset(self, part: Part, ablation: Ablation) -> Preset:
        """The Preset of *part*, its profiles those of *ablation*.

        It has no profiles if the part wants settings, and nobody gives any.
        """
        axes, amount, wish = self.axes(part), self.study.amount(self.wish.size), self.wish
        profiles = ablation.profiles
        if part.with_settings:
            extra = spelled(wish.settings)
            profiles = tuple(f"{one}{extra}" for one in profiles) if extra else ()
        places = product(
            profiles,
            axes.get("storages", (DISK,)),
            axes.get("topologies", (SINGLE,)),
            axes.get("poolers", (DIRECT,)),
        )
        modes = axes.get("modes", (Mode.READ_ONLY,))
        return Preset(
            name=f"{self.name}-{wish.size}",
            description=self.study.title,
            modes=tuple(map(self._mode, modes)),
            protocols=axes.get("protocols", (Protocol.PREPARED,)),
            tiers=axes.get("tiers", (Tier.SMALL,)),
            rungs=rungs(axes.get("clients", (1,)), self.session.machine.cores),
            samples=wish.repeats or amount.repeats,
            seconds=wish.seconds or amount.seconds,
            profiles=tuple(_placed(*place) for place in places),
        )

    def _mode(self, word: str) -> AnyMode:
        """What *word* is a mode of; UsageError if it is none of this Study."""
        script = self.scripts.get(word)
        if script is not None:
            return script
        if word in OLTPS:
            return oltp_of(word)
        if word in list(Mode):
            return Mode(word)
        known = ", ".join([*Mode, *OLTPS, *self.scripts])
        raise UsageError(f'"{word}" is no mode of study "{self.name}"', hint=f"There are: {known}.")

    def targets(self, part: Part) -> tuple[list[Target], list[Skipped]]:
        """What *part* builds or takes as it is, and what cannot be had of it."""
        axes = self.axes(part)
        found: list[Target] = []
        left: list[Skipped] = []
        variants = [Variant.parse(word) for word in axes.get("variants", ("bs8",))]
        for ref in axes.get("refs", ()):
            words, unfit = self._refs(part, ref)
            left += unfit
            for word, variant in product(words, variants):
                target = Target.parse(word, variant)
                if part.only_registered and target.registered is None:
                    continue
                several = set(axes.get("topologies", (SINGLE,))) != {SINGLE}
                reason = self._unfit(target, several=several)
                if reason is None:
                    found.append(target)
                else:
                    left.append(Skipped(part=part.name, what=str(target), reason=reason))
        return list(dict.fromkeys(found)), left

    def _versions(self, targets: Iterable[Target]) -> set[Version]:
        """The versions of *targets*."""
        external_servers, sources = self.session.external_servers, self.session.builder.sources
        return {
            external_servers.find(t.registered).version
            if t.registered
            else sources.look_up(t.ref)[0]
            for t in targets
        }

    def _refs(self, part: Part, ref: str) -> tuple[list[str], list[Skipped]]:
        """The REFs that *ref* stands for."""
        if ref == MAJORS:
            return self._majors(part)
        if ref not in (REGISTERED, VANILLA):
            return [ref], []
        builds = self.session.external_servers.all()
        if not builds:
            reason = '"landspeed build --from PG_CONFIG --name NAME" brings one'
            return [], [Skipped(part=part.name, what="no server is registered", reason=reason)]
        names = [b.origin.name if ref == REGISTERED else b.version.major_text for b in builds]
        return list(dict.fromkeys(names)), []

    def _majors(self, part: Part) -> tuple[list[str], list[Skipped]]:
        """The newest release of every major that is here or can be reached, oldest first."""
        newest: dict[str, str] = {}
        out_of_reach: dict[str, Skipped] = {}
        for status in self.session.builder.sources.statuses():
            major = status.version.major_text
            if status.is_here or status.is_reachable:
                newest[major] = str(status.version)
            else:
                reason = "; ".join(status.reach) or "no source of it is known"
                unfit = Skipped(part=part.name, what=str(status.version), reason=reason)
                out_of_reach[major] = unfit
        return list(newest.values()), [v for m, v in out_of_reach.items() if m not in newest]

    def _unfit(self, target: Target, *, several: bool) -> str | None:
        """Why *target* cannot be had; None if it can, as far as is known without building it.

        With *several* it has to be one that a coordinator and workers can be of.
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
            return f"{error.message}. {error.detail}".strip().replace("\n", " ")
        return None


def _placed(profile: str, storage: str, topology: str, pooler: str) -> str:
    place = "" if storage == DISK else f"-on-{storage}"
    across = "" if topology == SINGLE else f"-across-{topology}"
    via = "" if pooler == DIRECT else f"-via-{pooler}"
    return Configuration.named(f"{profile}{place}{across}{via}").name


def study_facts(session: Session, plan: StudyPlan) -> dict[str, Any]:
    """What *plan* measures, what that takes, and what it leaves out, as JSON can hold it."""
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
        "size": plan.wish.size.value,
        "about": plan.wish.about(plan.study.amount(plan.wish.size)),
        "machine": machine.facts(),
        "seconds": preset.seconds,
        "repeats": preset.samples,
        "builds": {str(target): built for target, built in targets.items()},
        "parts": [_part_facts(part, machine.cores) for part in plan.parts],
        "left": [vars(one) for one in plan.left],
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
    """The bytes that all servers of a Run of *cell* take, as they plan it."""
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
    found: Build | None = session.builder.find(source, target.variant) if source else None
    return found is not None
