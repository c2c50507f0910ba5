"""Labels of the GitHub Actions runner that a metric is measured on."""

from __future__ import annotations

import os
import re

from base.errors import UsageError
from benchmarks.workloads.metrics import Metric

# By whether a metric is exact: the variable that names the labels of the runner, and its default.
_LABELS = {
    True: ("LANDSPEED_EXACT_LABELS", "ubuntu-24.04"),
    False: ("LANDSPEED_BENCH_LABELS", "self-hosted landspeed-bench"),
}
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def runner_labels(metric: Metric) -> list[str]:
    """The labels of the runner that *metric* is taken on; what is exact is so on any machine.

    From $LANDSPEED_EXACT_LABELS or $LANDSPEED_BENCH_LABELS, words with spaces between.
    """
    variable, default = _LABELS[metric.exact]
    labels = (os.environ.get(variable) or default).split()
    for label in labels:
        if not _LABEL.fullmatch(label):
            raise UsageError(f'{variable}: "{label}" is not the label of a runner')
    return labels
