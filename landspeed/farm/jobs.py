"""The tracking plan as the jobs of track.yml: a matrix for each kind, read with ``fromJSON``.

https://docs.github.com/actions/how-tos/write-workflows/choose-what-workflows-do/run-job-variations
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from base.files import digest_text
from benchmarks.workloads.metrics import METRICS
from landspeed.farm.plan import TrackingPlan
from landspeed.farm.runners import runner_labels
from landspeed.session.session import Session
from landspeed.session.target import Target
from landspeed.session.tracking_config import TrackingConfig

_COUNTS_PER_JOB = 4
# GitHub ends a job on a machine of its own after 6 hours, and an estimate may be half of the truth.
# https://docs.github.com/actions/reference/limits
_JOB_SECONDS = 2.5 * 3600
_EXACT = {metric.exact: metric for metric in METRICS}


def track_outputs(session: Session, track: TrackingConfig, plan: TrackingPlan) -> dict[str, Any]:
    """Return the outputs that track.yml reads, as JSON can hold them.

    ``targets`` are words with spaces between, ``labels`` those of a machine's runner.

    ``builds``: Jobs that build one target each; the ``identifier`` of the build names its archive,
        artifact and cache.
    ``counts``: Jobs that count a few targets on any machine.
    ``timings``: Jobs that time targets on one machine.
    ``confirms``: Jobs that confirm or refute the changepoints of one machine.
    ``refs``: What is measured: full commit hashes and releases.
    ``labels``: The labels of the runner that builds and counts.
    ``counter``: The name of the machine that counts are stored under.
    ``sources_key``: The key of the cache that holds the sources.
    ``modes``: The modes to measure, with spaces between; empty for those of the preset.
    ``assigned``: What each job may hand in, by the name of its artifact: see Assigned.
    """
    year, week, _ = datetime.now(UTC).isocalendar()
    upstream = digest_text(session.builder.sources.config.upstream)[:8]
    # The client comes first: every job that measures needs it.
    targets = dict.fromkeys([plan.client, *plan.targets] if plan.targets else [])
    # A commit and its revert's revert are one build, and an artifact has one author.
    builds = {_identifier(session, target): target for target in targets}
    counted, counter = plan.counted.targets, plan.counted.machine
    each = plan.counted.seconds / max(len(counted), 1)
    size = max(1, min(_COUNTS_PER_JOB, int(_JOB_SECONDS / max(each, 1.0))))
    batches = {
        str(number): counted[at : at + size]
        for number, at in enumerate(range(0, len(counted), size), start=1)
    }
    timed = {one.machine: one.targets for one in plan.timed if one.targets}
    matrices: dict[str, list[dict[str, Any]]] = {
        "builds": [{"target": str(one), "identifier": name} for name, one in builds.items()],
        "counts": [{"name": name, "targets": _words(some)} for name, some in batches.items()],
        "timings": [
            {"machine": name, "targets": _words(some), "labels": _labels(plan, name)}
            for name, some in timed.items()
        ],
        "confirms": [{"machine": name, "labels": _labels(plan, name)} for name in plan.machines],
    }
    assigned = {
        **{f"build-{name}": _assigned("", [target]) for name, target in builds.items()},
        **{f"count-{name}": _assigned(counter, some) for name, some in batches.items()},
        **{f"time-{name}": _assigned(name, some) for name, some in timed.items()},
        **{f"confirm-{name}": {"machine": name} for name in plan.machines},
        "recovered": {},
    }
    return {
        **matrices,
        "refs": [target.ref for target in plan.targets],
        "labels": _labels(plan, counter),
        "counter": counter,
        # A new cache each week, so that it gains what was fetched since.
        "sources_key": f"sources-{upstream}-{year}-{week}",
        "preset": track.preset,
        "modes": " ".join(track.modes),
        **{f"{name}_count": len(jobs) for name, jobs in matrices.items()},
        "assigned": {f"results-{name}": some for name, some in assigned.items()},
    }


def _words(targets: Iterable[Target]) -> str:
    return " ".join(map(str, targets))


def _assigned(machine: str, targets: Iterable[Target]) -> dict[str, object]:
    return {"machine": machine, "refs": sorted({target.ref for target in targets})}


def _identifier(session: Session, target: Target) -> str:
    source = session.builder.sources.resolve(target.ref)
    found = session.builder.recipe(source, target.variant)
    return session.builder.identifier(source, found)


def _labels(plan: TrackingPlan, machine: str) -> list[str]:
    if machine == plan.counted.machine:
        return runner_labels(_EXACT[True])
    return [*runner_labels(_EXACT[False]), machine]
