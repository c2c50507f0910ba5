"""Many Builds at once: one scheduler, the longest first, no more compilers than cores.

Each build owns one job from its first step to its last, so that what is serial in it
(unpacking, configure, linking, installing) runs beside what another compiles; jobs that no
build owns are shared by all through a JobServer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from base.build import Build, Variant
from base.errors import LandspeedError
from builders.builder import Builder
from builders.recipe_table import BuildSystem
from builders.sandbox import Progress
from builders.sandbox.jobserver import JobServer, job_server
from builders.source import Source

_LOOK_SECONDS = 0.25
# Ending compilers takes a moment; what hangs longer (a lock another landspeed holds) is left
# to the watcher of each step, which outlives us.
_END_SECONDS = 20.0


@dataclass(frozen=True, kw_only=True)
class Order:
    """A request for one build: a source in a variant, by a build system or the usual one."""

    source: Source
    variant: Variant
    system: BuildSystem | None = None

    @property
    def label(self) -> str:
        """How progress calls it: ``18.6 bs4``."""
        return f"{self.source.origin.name} {self.variant}"


Outcomes = dict[Order, Build | LandspeedError]
"""The result of each order: its build, or the error that it ended with."""


@dataclass(frozen=True, kw_only=True)
class BuildSetProgress:
    """How far a set of builds is: the share of all work done, the outcomes, the builds running."""

    share: float
    outcomes: Mapping[Order, Build | LandspeedError]
    doing: Mapping[Order, Progress]


class _CancelledError(BaseException):
    """Raised in a build that is to end because the set was cancelled."""


@dataclass(kw_only=True)
class _Set:
    """The state that the threads of a set share, each change under ``lock``."""

    waiting: list[Order]
    weights: Mapping[Order, int]
    outcomes: Outcomes = field(default_factory=dict)
    doing: dict[Order, Progress] = field(default_factory=dict)
    held: ExitStack
    crash: BaseException | None = None
    cancelled: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self) -> Order | None:
        with self.lock:
            if self.cancelled.is_set() or not self.waiting:
                return None
            order = self.waiting.pop(0)
            self.doing[order] = Progress(step="start", share=0.0)
            return order

    def tell(self, order: Order, progress: Progress) -> None:
        if self.cancelled.is_set():
            raise _CancelledError
        with self.lock:
            self.doing[order] = progress

    def finish(self, order: Order, outcome: Build | LandspeedError) -> None:
        with self.lock:
            del self.doing[order]
            self.outcomes[order] = outcome

    def standing(self) -> BuildSetProgress:
        with self.lock:
            doing, outcomes = dict(self.doing), dict(self.outcomes)
            done = sum(self.weights[order] for order in outcomes)
            parts = sum(self.weights[order] * p.share for order, p in doing.items())
            whole = max(1, sum(self.weights.values()))
            return BuildSetProgress(share=(done + parts) / whole, outcomes=outcomes, doing=doing)


def build_many(
    builder: Builder,
    orders: Sequence[Order],
    *,
    at_once: int,
    tell: Callable[[BuildSetProgress], None],
) -> Outcomes:
    """Build all *orders*, *at_once* of them at a time; what failed is an outcome like any other.

    *tell* hears where it stands, and is called in the caller's thread. Ctrl-C ends every build.
    None of the builds is removed to make room for another.
    """
    weights = {order: builder.sources.size(order.source) for order in orders}
    # the longest first: what is short fills the end, where cores would idle
    waiting = sorted(weights, key=lambda order: -weights[order])
    jobs = builder.sandbox.jobs
    count = max(1, min(at_once, jobs, len(waiting)))
    with ExitStack() as held, job_server(jobs - count) as server:
        state = _Set(waiting=waiting, weights=weights, held=held)
        own = replace(builder, sandbox=builder.sandbox.sharing(server, builds=count))
        threads = [
            # daemons: one that waits for another landspeed's lock must not keep us from ending
            threading.Thread(target=_work, args=(own, state, server), daemon=True)
            for _ in range(count)
        ]
        try:
            for thread in threads:
                thread.start()
            while any(thread.is_alive() for thread in threads):
                for thread in threads:
                    thread.join(_LOOK_SECONDS / count)
                tell(state.standing())
        finally:
            state.cancelled.set()
            for thread in threads:
                thread.join(_END_SECONDS / count)
    if state.crash is not None:
        raise state.crash
    return {order: state.outcomes[order] for order in orders}


def _work(builder: Builder, state: _Set, server: JobServer) -> None:
    try:
        while (order := state.take()) is not None:
            outcome = _outcome(builder, order, state)
            if isinstance(outcome, Build):
                state.held.enter_context(builder.store.in_use([outcome]))
            state.finish(order, outcome)
        if not state.cancelled.is_set():
            server.give()
    except _CancelledError:
        return
    except BaseException as error:
        state.crash = error
        state.cancelled.set()


def _outcome(builder: Builder, order: Order, state: _Set) -> Build | LandspeedError:
    try:
        return builder.build(
            order.source,
            order.variant,
            order.system,
            progress=lambda progress: state.tell(order, progress),
        )
    except LandspeedError as error:
        return error
