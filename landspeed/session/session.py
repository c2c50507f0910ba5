"""The parts that a command needs, put together for this machine and this project."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import monotonic

from base.build import Build, Variant
from base.errors import BuildError, LandspeedError, SourceError, UsageError, raise_if, some_failed
from base.paths import Paths
from benchmarks.data.template_store import TemplateStore
from benchmarks.machine.machine import Machine
from benchmarks.records.store import RecordStore
from benchmarks.server.home import TEMPLATES
from builders.build_set import BuildSetProgress, Order, Outcomes, build_many
from builders.builder import Builder
from builders.external import ExternalServers
from builders.recipe_table import BuildSystem
from builders.sandbox import Progress, Sandbox
from builders.source import Source
from landspeed.console.progress import duration, meter, say
from landspeed.session.target import Target


@dataclass(frozen=True, kw_only=True)
class Session:
    """The builder, the records and the machine of a command; each is made when it is used.

    ``paths`` are those of the current project unless others are given. Without a ``sandbox`` it
    builds on the host. ``memory``, in bytes, limits the servers of the machine. A session that
    ``only_counts`` also takes commits that nobody listed: patches, and branches of cfbot.
    """

    paths: Paths = field(default_factory=Paths.find)
    sandbox: Sandbox | None = None
    memory: int | None = None
    only_counts: bool = False

    @cached_property
    def builder(self) -> Builder:
        """The builder; on a full disk the least recently used data make room for a build."""
        templates = TemplateStore(root=self.paths.server_root / TEMPLATES)
        builder = Builder.open(self.paths, self.sandbox)
        return replace(builder, make_room=templates.make_room)

    @cached_property
    def external_servers(self) -> ExternalServers:
        return ExternalServers(root=self.paths.external_servers)

    @cached_property
    def records(self) -> RecordStore:
        return RecordStore(self.paths.records)

    @cached_property
    def machine(self) -> Machine:
        return Machine.detect().limited(self.memory)

    def build(
        self,
        source: Source,
        variant: Variant,
        *,
        title: str = "",
        on_built: Callable[[], None] = lambda: None,
    ) -> Build:
        """Return the build of *source* in *variant*; make it, with progress, if there is none.

        *on_built* is called after a build had to be made.
        """
        found = self.builder.find(source, variant)
        if found:
            return found
        build = _shown(
            title or f"building {source.origin.name} {variant}",
            lambda tell: self.builder.build(source, variant, progress=tell),
        )
        on_built()
        return build

    def build_all(
        self, targets: Sequence[Target], system: BuildSystem | None = None, *, jobs: int | None
    ) -> dict[Target, Build | LandspeedError]:
        """Return the build of each of *targets*, made side by side, or the error it ended with.

        *jobs* of them at a time; None for as many as there are cores. A REF that names
        nothing is an error before the first compiler starts.
        """
        known: dict[Target, Build | LandspeedError] = {}
        orders: dict[Target, Order] = {}
        for target in targets:
            try:
                named = self.named(target)
            except SourceError as error:
                known[target] = error
                continue
            if isinstance(named, Build):
                known[target] = named
            elif found := self.builder.find(named, target.variant, system):
                known[target] = found
            else:
                orders[target] = Order(source=named, variant=target.variant, system=system)
        due = list(dict.fromkeys(orders.values()))
        outcomes: Outcomes = {}
        if due:
            here = [one for one in known.values() if isinstance(one, Build)]
            with self.builder.store.in_use(here):
                outcomes = self._made(due, jobs or self.builder.sandbox.jobs)
        known |= {target: outcomes[order] for target, order in orders.items()}
        return {target: known[target] for target in targets}

    def _made(self, due: list[Order], at_once: int) -> Outcomes:
        names = ", ".join(order.label for order in due)
        say(f"building {names}")
        told: set[Order] = set()
        with meter(f"building {len(due)}" if len(due) > 1 else f"building {names}") as shown:

            def tell(standing: BuildSetProgress) -> None:
                for order in standing.outcomes.keys() - told:
                    told.add(order)
                    say(_became(order, standing.outcomes[order]))
                shown.update(standing.share, _doing(standing, len(due)))

            return build_many(self.builder, due, at_once=at_once, tell=tell)

    def pgbench_build(self, *, with_server: bool = False) -> Build:
        """Return the build whose pgbench drives every server.

        It has pgbench alone if nothing else is built, because that takes a tenth of the time.
        Counting a custom script asks for the build *with_server*: its cost there decides how often
        the script is executed on every server.
        """
        if with_server:
            return self.build(self.builder.newest_stable(), Variant())
        return self.builder.find_client() or _shown(
            f"building pgbench of {self.builder.newest_stable().origin.name}",
            lambda tell: self.builder.build_client(progress=tell),
        )

    def named(self, target: Target) -> Source | Build:
        """Return what *target* names: a source to be built, or the build that is registered so.

        VariantError if the Source cannot be built in the Variant that *target* is in, UsageError if
        it is not listed and may not be measured here.
        """
        if target.registered is not None:
            return self.external_servers.find(target.registered)
        source = self.builder.sources.resolve(target.ref)
        if not self.builder.sources.is_listed(source):
            self._require_countable(target)
        self.builder.recipe(source, target.variant)
        return source

    def _require_countable(self, target: Target) -> None:
        """Raise UsageError if a patch of anybody could reach times, or results of a bench host."""
        if not self.only_counts:
            raise UsageError(
                f'"{target.ref}" is a patch of nobody who is listed: it is counted, never timed',
                detail="Its server could change what a machine that measures keeps.",
                hint="Compare it over a suite, or list its remote in [sources.git.remotes].",
            )
        # https://docs.github.com/actions/reference/workflows-and-actions/variables
        if os.environ.get("RUNNER_ENVIRONMENT") == "self-hosted":
            raise UsageError(
                f'"{target.ref}" is a patch of nobody who is listed: no self-hosted runner runs it',
                detail="Its server could change the results and the cache of this machine.",
                hint="Count it on a runner that GitHub hosts: leave LANDSPEED_EXACT_LABELS empty.",
            )


def _doing(standing: BuildSetProgress, due: int) -> str:
    parts = [f"{order.label} {p.step} {p.share:.0%}" for order, p in standing.doing.items()]
    count = f"{len(standing.outcomes)} of {due} done"
    return "; ".join([count, *parts] if due > 1 else [p.step for p in standing.doing.values()])


def _shown(title: str, make: Callable[[Callable[[Progress], None]], Build]) -> Build:
    """Return what *make* builds; show its progress under *title*."""
    say(title)
    with meter(title) as shown:
        build = make(lambda progress: shown.update(progress.share, progress.step))
        took = duration(monotonic() - shown.began)
    say(f"built {build.label} in {took} ({build.cpu_seconds:.0f} CPU s)")
    return build


def _became(order: Order, outcome: Build | LandspeedError) -> str:
    if isinstance(outcome, Build):
        return f"built {order.label} ({outcome.cpu_seconds:.0f} CPU s)"
    return f"failed: {order.label}; the error follows at the end"


def built(session: Session, targets: Sequence[Target]) -> dict[Target, Build]:
    """Return the build of each of *targets*, made if need be; raise the error if any failed."""
    outcomes = session.build_all(targets, jobs=None)
    raise_if(build_failure(list(outcomes.values())))
    return {target: one for target, one in outcomes.items() if isinstance(one, Build)}


def build_failure(outcomes: Sequence[Build | LandspeedError]) -> LandspeedError | None:
    """Return the error for a set of builds, after printing each one's own; None if none failed.

    A set of one ends with its own error.
    """
    errors = [outcome for outcome in outcomes if not isinstance(outcome, Build)]
    if len(outcomes) == 1 or not errors:
        return errors[0] if errors else None
    for error in errors:
        say(str(error))
    return some_failed([error.message for error in errors], len(outcomes), "builds", BuildError)
