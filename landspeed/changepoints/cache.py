"""State of the changepoint detector, cached so that a later scan computes only what is new.

The cache can be deleted at any time.
"""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Self

import numpy as np

from base.files import digest_file, digest_text, write_atomic
from base.paths import Paths
from landspeed.changepoints.detect import Traces
from landspeed.stats import changepoint_online, glr
from landspeed.stats.changepoint_online import Trace


@dataclass(frozen=True, kw_only=True)
class TraceCache:
    """File with the traces of a project's series.

    ``code`` is a digest of the detector's code: scores of another version are not used.
    """

    path: Path
    code: str

    @classmethod
    def of(cls, paths: Paths) -> Self:
        """Return the cache of the project of *paths*."""
        own = [digest_file(Path(str(module.__file__))) for module in (changepoint_online, glr)]
        name = f"{digest_text(str(paths.records.absolute()))[:16]}.npz"
        return cls(path=paths.cache / "traces" / name, code=digest_text("".join(own)))

    def load(self) -> Traces:
        """Return the cached traces; nothing if the file is missing, damaged or of other code."""
        try:
            with np.load(self.path, allow_pickle=False) as file:
                facts, numbers = json.loads(str(file["facts"])), file["numbers"]
        except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile):
            return {}
        if facts["code"] != self.code:
            return {}
        ends = accumulate(size for one in facts["lines"] for size in one["sizes"])
        parts = iter(np.split(numbers, list(ends)))
        traces = {}
        for one in facts["lines"]:
            logs, *scores = (next(parts) for _ in one["sizes"])
            traces[one["name"]] = Trace(
                logs=logs, starts=tuple(one["starts"]), scores=tuple(scores)
            )
        return traces

    def save(self, traces: Traces) -> None:
        """Replace the cached traces by *traces*."""
        parts = {name: [one.logs, *one.scores] for name, one in traces.items()}
        lines = [
            {"name": name, "starts": traces[name].starts, "sizes": [len(part) for part in own]}
            for name, own in parts.items()
        ]
        numbers = np.concatenate([np.zeros(0), *(part for own in parts.values() for part in own)])
        stream = io.BytesIO()
        facts = json.dumps({"code": self.code, "lines": lines})
        np.savez(stream, facts=np.array(facts), numbers=numbers)
        write_atomic(self.path, stream.getvalue(), durable=False)
