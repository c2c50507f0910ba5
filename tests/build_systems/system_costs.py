"""What a transaction costs a Build, counted for a check: nothing of it is recorded."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from base.build import Build
from benchmarks.clients.pgbench import Pgbench
from benchmarks.counted.count import count
from benchmarks.machine.lock import measuring
from benchmarks.workloads.scenario import CacheState, Mode
from landspeed.compare.prepare import cells_of
from landspeed.compare.side import CompareScenario
from landspeed.session.session import Session

_MODES = (Mode.READ_ONLY, Mode.READ_WRITE)
_SLOPES = 2  # a count is two of them, and each can have a core of its own


def costs(session: Session, pgbench: Pgbench, build: Build) -> dict[str, float]:
    """Instructions per transaction of *build*, prepared and warm, by mode.

    MeasureError if it cannot be counted here, or counts that do not repeat.
    """
    with measuring(counting=True), tempfile.TemporaryDirectory() as project:
        paths = replace(session.paths, project=Path(project))
        return dict(_costs(replace(session, paths=paths), pgbench, build))


def _costs(session: Session, pgbench: Pgbench, build: Build) -> Iterator[tuple[str, float]]:
    for mode in _MODES:
        question = CompareScenario(mode=mode)
        record = count(
            build=build,
            pgbench=pgbench,
            cell=cells_of(session, question, [question.profile], CacheState.WARM)[question.profile],
            machine=session.machine,
            paths=session.paths,
            context={},
            at_once=min(_SLOPES, session.machine.cores),
        )
        yield mode.value, record.sample.instructions
