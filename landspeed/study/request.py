"""What a person asks of a study."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.workloads.scenario import Tier
from landspeed.study.ablation import NameValue
from landspeed.study.schema import Amount, Axes, Size


@dataclass(frozen=True, kw_only=True)
class StudyRequest:
    """The size of a study, and what replaces its own definitions.

    ``settings`` are added to configurations, or tested one by one in place of *tuned*'s, as the
    study's parts say. ``files``, with their weights, replace those of the study's script.
    """

    size: Size = Size.QUICK
    axes: Axes = field(default_factory=Axes)
    repeats: int | None = None
    seconds: int | None = None
    scales: Mapping[Tier, int] = field(default_factory=dict)
    settings: tuple[NameValue, ...] = ()
    files: tuple[tuple[Path, int], ...] = ()

    @property
    def options(self) -> list[str]:
        """The request as options of the command, without the size."""
        settings = [n if value is None else f"{n}={value}" for n, value in self.settings]
        files = [f"{path}@{weight}" for path, weight in self.files]
        return [*self._amounts, *_all("--setting", settings), *_all("--script", files)]

    @property
    def _amounts(self) -> list[str]:
        """The options that change what the size describes."""
        given = {
            "--tier": self.axes.tiers,
            "--mode": self.axes.modes,
            "--protocol": self.axes.protocols,
            "--clients": self.axes.clients,
            "--configuration": self.axes.profiles,
            "--storage": self.axes.storages,
            "--samples": [self.repeats] if self.repeats else (),
            "--seconds": [self.seconds] if self.seconds else (),
            "--scale": [f"{tier}={scale}" for tier, scale in self.scales.items()],
        }
        return [word for option, values in given.items() for word in _all(option, values or ())]

    def about(self, amount: Amount, mark: Callable[[str], str] = str) -> str:
        """Return the description of *amount*, the request's size, or the options that change it.

        The options are passed through *mark*.
        """
        changed = shlex.join(self._amounts)
        return f"changed by {mark(changed)}" if changed else amount.about


def _all(option: str, values: Iterable[object]) -> list[str]:
    return [word for value in values for word in (option, str(value))]
