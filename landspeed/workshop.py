"""The Workshop: the parts a command needs, put together for this machine and this project."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from time import monotonic

from base.build import Build, Variant
from base.paths import Paths
from benchmarks.machine import Machine
from benchmarks.records import RecordStore
from builders.builder import Builder
from builders.recipe import BuildSystem
from builders.source import Source
from landspeed.progress import duration, meter, say
from landspeed.target import Target


@dataclass(frozen=True)
class Workshop:
    """A Workshop holds builder, records and machine; each is made when used."""

    paths: Paths

    @classmethod
    def open(cls) -> Workshop:
        """The Workshop of the project we are in."""
        return cls(paths=Paths.find())

    @cached_property
    def builder(self) -> Builder:
        return Builder.open(self.paths, say)

    @cached_property
    def records(self) -> RecordStore:
        return RecordStore(self.paths.records)

    @cached_property
    def machine(self) -> Machine:
        return Machine.detect()

    def build(
        self,
        source: Source,
        variant: Variant,
        system: BuildSystem | None = None,
        *,
        title: str = "",
        narrate: Callable[[str], None] = say,
    ) -> Build:
        """The Build of *source* in *variant*, with progress while it is made."""
        found = self.builder.find(source, variant, system)
        if found:
            return found
        name = title or f"building {source.origin.name} {variant}"
        narrate(name)
        with meter(name) as shown:
            build = self.builder.build(
                source, variant, system, progress=lambda p: shown.update(p.share, p.step)
            )
            took = duration(monotonic() - shown.began)
        narrate(f"built {build.label} in {took} ({build.cpu_seconds:.0f} CPU s)")
        return build

    def build_target(self, target: Target) -> Build:
        """The Build of *target*, resolved and built as needed."""
        return self.build(self.builder.sources.resolve(target.ref), target.variant)
