"""One measurement at a time on a machine, whoever starts it and wherever its cache is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from base.files import locked

_LOCK = Path("/tmp/landspeed-measure.lock")  # noqa: S108  flock'ed, its content is not used


@contextmanager
def measuring(*, wait: bool = False, counting: bool = False) -> Iterator[None]:
    """Hold this machine's measuring lock; BusyError naming the process that has it.

    With *wait* it is waited for instead. Those who only count instructions (*counting*) hold it
    together: nothing disturbs them, but they would disturb one who takes the time. The file is
    $LANDSPEED_MEASURE_LOCK if that is set, for tests whose numbers nobody uses.
    """
    path = Path(os.environ.get("LANDSPEED_MEASURE_LOCK") or _LOCK)
    with locked(
        path, wait=wait, shared=counting, busy="another landspeed is measuring on this machine"
    ):
        yield
