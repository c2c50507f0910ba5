"""The tracking plan as the jobs of track.yml: a matrix for each kind, read with ``fromJSON``.

https://docs.github.com/actions/how-tos/write-workflows/choose-what-workflows-do/run-job-variations
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime

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


@dataclass(frozen=True, kw_only=True)
class BuildJob:
    """A job that builds one target.

    ``identifier``: The identifier of the build: names its archive, artifact and cache.
    """

    target: str
    identifier: str


@dataclass(frozen=True, kw_only=True)
class CountJob:
    """A job that counts a few targets on any machine.

    ``targets``: Targets with spaces between.
    """

    name: str
    targets: str


@dataclass(frozen=True, kw_only=True)
class TimeJob:
    """A job that times targets on one machine.

    ``targets``: Targets with spaces between.
    ``labels``: The labels of that machine's runner.
    """

    machine: str
    targets: str
    labels: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ConfirmJob:
    """A job that confirms or refutes the changepoints of one machine.

    ``labels``: The labels of that machine's runner.
    """

    machine: str
    labels: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class TrackJobs:
    """The jobs of track.yml; the names of the fields are the names of the outputs it reads.

    ``refs``: What is measured: full commit hashes and releases.
    ``labels``: The labels of the runner that builds and counts.
    ``counter``: The name of the machine that counts are stored under.
    ``sources_key``: The key of the cache that holds the sources.
    ``modes``: The modes to measure, with spaces between; empty for those of the preset.
    """

    builds: tuple[BuildJob, ...]
    counts: tuple[CountJob, ...]
    timings: tuple[TimeJob, ...]
    confirms: tuple[ConfirmJob, ...]
    refs: tuple[str, ...]
    labels: tuple[str, ...]
    counter: str
    sources_key: str
    preset: str
    modes: str

    @classmethod
    def of(cls, session: Session, track: TrackingConfig, plan: TrackingPlan) -> TrackJobs:
        """Return the jobs that carry out *plan*."""
        # The client comes first: every job that measures needs it.
        targets = [plan.client, *plan.targets] if plan.targets else []
        jobs = [_build_job(session, target) for target in dict.fromkeys(targets)]
        counted = plan.counted.targets
        each = plan.counted.seconds / max(len(counted), 1)
        size = max(1, min(_COUNTS_PER_JOB, int(_JOB_SECONDS / max(each, 1.0))))
        batches = [counted[at : at + size] for at in range(0, len(counted), size)]
        return cls(
            # A commit and its revert's revert are one build, and an artifact has one author.
            builds=tuple({job.identifier: job for job in jobs}.values()),
            counts=tuple(
                CountJob(name=str(number), targets=" ".join(map(str, batch)))
                for number, batch in enumerate(batches, start=1)
            ),
            timings=tuple(
                TimeJob(
                    machine=one.machine,
                    targets=" ".join(map(str, one.targets)),
                    labels=_labels(plan, one.machine),
                )
                for one in plan.timed
                if one.targets
            ),
            confirms=tuple(
                ConfirmJob(machine=machine, labels=_labels(plan, machine))
                for machine in plan.machines
            ),
            refs=tuple(target.ref for target in plan.targets),
            labels=_labels(plan, plan.counted.machine),
            counter=plan.counted.machine,
            sources_key=_sources_key(session),
            preset=track.preset,
            modes=" ".join(track.modes),
        )

    def facts(self) -> dict[str, object]:
        """Return the outputs as JSON can hold them, each matrix with its number of jobs."""
        matrices = {"builds": self.builds, "counts": self.counts}
        matrices |= {"timings": self.timings, "confirms": self.confirms}
        counts = {f"{name}_count": len(jobs) for name, jobs in matrices.items()}
        return asdict(self) | counts | {"assigned": self._assigned()}

    def _assigned(self) -> dict[str, dict[str, object]]:
        """Return what each job may hand in, by the name of its artifact: see Assigned."""
        jobs = [(f"build-{one.identifier}", "", one.target) for one in self.builds]
        jobs += [(f"count-{one.name}", self.counter, one.targets) for one in self.counts]
        jobs += [(f"time-{one.machine}", one.machine, one.targets) for one in self.timings]
        found: dict[str, dict[str, object]] = {
            f"results-{name}": {
                "machine": machine,
                "refs": sorted({one.partition(":")[0] for one in targets.split()}),
            }
            for name, machine, targets in jobs
        }
        for confirm in self.confirms:
            found[f"results-confirm-{confirm.machine}"] = {"machine": confirm.machine}
        return {**found, "results-recovered": {}}


def _build_job(session: Session, target: Target) -> BuildJob:
    source = session.builder.sources.resolve(target.ref)
    found = session.builder.recipe(source, target.variant)
    return BuildJob(target=str(target), identifier=session.builder.identifier(source, found))


def _labels(plan: TrackingPlan, machine: str) -> tuple[str, ...]:
    if machine == plan.counted.machine:
        return tuple(runner_labels(_EXACT[True]))
    return (*runner_labels(_EXACT[False]), machine)


def _sources_key(session: Session) -> str:
    """Name the cache of the sources anew each week, so that it gains what was fetched since."""
    year, week, _ = datetime.now(UTC).isocalendar()
    return f"sources-{digest_text(session.builder.sources.config.upstream)[:8]}-{year}-{week}"
