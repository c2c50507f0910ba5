"""Wishes: what a person asks of a Study."""

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
    """A Wish is what a person asks of a Study: its size, and what takes the place of its own.

    ``settings`` are those that a Part adds to its profiles, or takes one by one in the place of
    *tuned*'s; ``files`` those of a script, with their weights, in the place of the Study's.
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
        """It as the options of a command, but for its size."""
        settings = [n if value is None else f"{n}={value}" for n, value in self.settings]
        files = [f"{path}@{weight}" for path, weight in self.files]
        return [*self._amounts, *_all("--setting", settings), *_all("--script", files)]

    @property
    def _amounts(self) -> list[str]:
        """Of the options those that change what a size says of itself."""
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
        """What *amount*, that of its size, says of itself, or what takes the place of that.

        A person's own words are as *mark* has them.
        """
        changed = shlex.join(self._amounts)
        return f"with {mark(changed)} in the place of its own" if changed else amount.about


def _all(option: str, values: Iterable[object]) -> list[str]:
    return [word for value in values for word in (option, str(value))]
