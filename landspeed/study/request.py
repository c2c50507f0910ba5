"""What a person asks of a study."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.workloads.scenario import Tier
from landspeed.results.reproduce import command
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

    def command(self, study: str, names: Mapping[str, str], memory: int | None) -> str:
        """Return the command that measures *study* again, on any machine.

        *names* maps each REF to what was measured, such as ``18`` to ``18.6``. *memory* is the
        servers' limit in bytes, None for none.
        """
        # A REF without a variant has those of each part; one with a variant has it in all parts.
        spelled = [word.partition(":") for word in self.axes.refs or ()]
        refs = dict.fromkeys(f"{names.get(ref, ref)}{colon}{name}" for ref, colon, name in spelled)
        settings = [n if value is None else f"{n}={value}" for n, value in self.settings]
        files = [f"{path}@{weight}" for path, weight in self.files]
        options = [*self._amounts, *_all("--setting", settings), *_all("--script", files)]
        options += ["--memory", f"{memory // 2**20}m"] if memory else []
        return command("study", study, *refs, "--preset", self.size.value, *options)

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
