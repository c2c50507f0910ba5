"""The labels of the GitHub Actions runner that measures a metric."""

from __future__ import annotations

import os
import re

from base.errors import UsageError
from benchmarks.workloads.metrics import Metric

# For exact and for timed metrics: the variable with the labels, and the default. The image is
# pinned, because counts of two C libraries are not comparable: ubuntu-24.04 has glibc 2.39.
_LABELS = {
    True: ("LANDSPEED_EXACT_LABELS", "ubuntu-24.04"),
    False: ("LANDSPEED_BENCH_LABELS", "self-hosted landspeed-bench"),
}
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def runner_labels(metric: Metric) -> list[str]:
    """Return the labels of the runner that measures *metric*; any machine can count exactly.

    Read from $LANDSPEED_EXACT_LABELS or $LANDSPEED_BENCH_LABELS, with spaces between.
    UsageError for an invalid label.
    """
    variable, default = _LABELS[metric.exact]
    labels = (os.environ.get(variable) or default).split()
    for label in labels:
        if not _LABEL.fullmatch(label):
            raise UsageError(f'{variable}: "{label}" is not a valid runner label')
    return labels
