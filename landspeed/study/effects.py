"""The effect of each setting of an ablation, from the runs of its configurations. Pure."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from landspeed.stats.multiple_testing import holm
from landspeed.stats.plackett_burman import MANY
from landspeed.stats.students_t import f_tail, interval_quantile, t_tail
from landspeed.study.ablation import Ablation
from landspeed.study.samples import Ratio, StudyRow, batches, grouped

SURE = 0.05
"""The share of rankings that may report an effect of a setting that has none."""

_Floats = npt.NDArray[np.float64]


class StudyContext(StrEnum):
    """What a setting is added to: none of the others, all of them, or some."""

    ALONE = "added to default"
    LAST = "added to all others"
    AVERAGED = "averaged over the others"


@dataclass(frozen=True, kw_only=True)
class Effect:
    """The ratio of runs with one setting to runs without it.

    ``p`` is the p-value of no effect, corrected by Holm for the number of settings; None for
    contexts other than AVERAGED.
    """

    setting: str
    context: StudyContext
    ratio: Ratio
    p: float | None = None

    @property
    def is_sure(self) -> bool:
        """Whether the effect is significant: by ``p``, or by its interval without one."""
        return self.p < SURE if self.p is not None else self.ratio.is_sure


@dataclass(frozen=True, kw_only=True)
class ScreeningResult:
    """The result of a screening design.

    ``freedom`` is the noise's degrees of freedom, ``missing`` the number of configurations without
    a run. ``together`` is the p-value of purely additive effects, with ``beyond`` degrees of
    freedom; None if there is no noise to compare with.
    """

    effects: tuple[Effect, ...]
    freedom: int
    missing: int
    beyond: int
    together: float | None


@dataclass(frozen=True, kw_only=True)
class Attribution:
    """All known effects, the setting with the largest first.

    Screened settings are ordered by their averaged effect. ``all_of_them`` is the effect of all
    settings at once.
    """

    effects: tuple[Effect, ...]
    screened: ScreeningResult | None
    all_of_them: Ratio | None

    @classmethod
    def of(cls, rows: Sequence[StudyRow], column: str, ablation: Ablation) -> Attribution:
        """Attribute changes of *column* in *rows* to the settings of *ablation*."""
        by_profile = {str(key[0]): some for key, some in grouped(rows, ["profile"]).items()}
        found = _one_at_a_time(by_profile, column, ablation)
        screened = screen(rows, column, ablation) if ablation.is_screened else None
        ranked = screened.effects if screened else found
        sizes: dict[str, float] = {}
        for one in ranked:
            size = abs(math.log(one.ratio.value))
            sizes[one.setting] = max(size, sizes.get(one.setting, 0.0))
        found += screened.effects if screened else ()
        none = by_profile.get(ablation.profile(()), [])
        every = by_profile.get(ablation.profile(ablation.names), [])
        return cls(
            effects=tuple(sorted(found, key=lambda one: -sizes.get(one.setting, 0.0))),
            screened=screened,
            all_of_them=Ratio.of(column, every, none),
        )

    @property
    def settings(self) -> tuple[str, ...]:
        """The settings, the one with the largest effect first."""
        return tuple(dict.fromkeys(one.setting for one in self.effects))

    @property
    def contexts(self) -> tuple[StudyContext, ...]:
        """The contexts in which any effect is known."""
        known = {one.context for one in self.effects}
        return tuple(context for context in StudyContext if context in known)

    @property
    def settings_to_confirm(self) -> tuple[str, ...]:
        """The few settings whose screened effect is significant, if there are at least two."""
        effects = self.screened.effects if self.screened else ()
        sure = {one.setting for one in effects if one.is_sure}
        found = tuple(name for name in self.settings if name in sure)[: MANY - 1]
        return found if len(found) > 1 else ()

    def effect(self, setting: str, context: StudyContext) -> Effect | None:
        """Return the effect of *setting* in *context*; None if it is not known."""
        return next((e for e in self.effects if (e.setting, e.context) == (setting, context)), None)


def _one_at_a_time(
    by_profile: dict[str, list[StudyRow]], column: str, ablation: Ablation
) -> list[Effect]:
    """Return the effect of each setting added to none, and added to all others."""
    none, every = ablation.profile(()), ablation.profile(ablation.names)
    found = []
    for name in ablation.names:
        for context, with_, without in (
            (StudyContext.ALONE, ablation.added(name), none),
            (StudyContext.LAST, every, ablation.without(name)),
        ):
            ratio = Ratio.of(column, by_profile.get(with_, []), by_profile.get(without, []))
            if ratio is not None:
                found.append(Effect(setting=name, context=context, ratio=ratio))
    return found


def screen(rows: Sequence[StudyRow], column: str, ablation: Ablation) -> ScreeningResult | None:
    """Estimate effects on *column* by the design of *ablation*; None if too few were measured.

    Main effects on the logarithm by least squares, with rounds as blocks. The noise is the
    variation between runs of one configuration beyond their rounds, so that interactions of
    settings are not noise. Each column of the design weighs all configurations alike, so the
    interval holds even if some vary more than others. Source of the correction: Holm, "A simple
    sequentially rejective multiple test procedure", Scand. J. Stat. 6 (1979).
    """
    signs = dict(zip(ablation.screen, ablation.design, strict=True))
    used = [r for r in rows if r.axes["profile"] in signs and (r.scalars[column] or 0) > 0]
    if not used:
        return None
    logs = np.array([math.log(row.scalars[column]) for row in used])
    # Runs are compared where all axes but their settings are equal.
    contexts = [
        tuple(v for axis, v in row.axes.items() if axis not in ("profile", "settings"))
        for row in used
    ]
    at = batches(used)
    rounds = [(r.scalars["preset"], at[r.scalars["id"]], r.scalars["round"]) for r in used]
    blocks = _indicators(list(zip(contexts, rounds, strict=True)))
    profiles = _indicators([(c, r.axes["profile"]) for c, r in zip(contexts, used, strict=True)])
    factors = np.array([signs[str(row.axes["profile"])] for row in used], dtype=float)
    model = np.hstack([blocks, factors])
    solution, unexplained, rank = _fit(model, logs)
    if rank < model.shape[1]:
        return None
    _, noise, known = _fit(np.hstack([blocks, profiles]), logs)
    freedom, beyond = len(used) - known, known - rank
    # The coefficient of ±1 is half of the difference that a factor makes.
    effects = 2 * solution[-factors.shape[1] :]
    spread = 2 * np.sqrt(np.diag(np.linalg.inv(model.T @ model)))[-factors.shape[1] :]
    together = None
    if freedom and beyond and noise > 0:
        ratio = (unexplained - noise) / beyond / (noise / freedom)
        together = f_tail(ratio, beyond, freedom)
    errors = spread * math.sqrt(noise / freedom) if freedom else None
    return ScreeningResult(
        effects=tuple(_effects(ablation, effects, errors, freedom)),
        freedom=freedom,
        missing=len(set(signs) - {row.axes["profile"] for row in used}),
        beyond=beyond,
        together=together,
    )


def _effects(
    ablation: Ablation, middles: _Floats, errors: _Floats | None, freedom: int
) -> Iterator[Effect]:
    """Yield an effect for each log ratio in *middles*, with the standard errors *errors*."""
    halves: Iterable[float | None] = [None] * len(middles)
    corrected: Iterable[float | None] = [None] * len(middles)
    if errors is not None:
        halves = interval_quantile(freedom) * errors
        corrected = holm(
            [
                2 * t_tail(abs(middle) / error if error else math.inf, freedom)
                for middle, error in zip(middles, errors, strict=True)
            ]
        )
    for name, middle, half, p in zip(ablation.names, middles, halves, corrected, strict=True):
        ratio = Ratio.of_log(middle, half)
        yield Effect(setting=name, context=StudyContext.AVERAGED, ratio=ratio, p=p)


def _indicators(labels: Sequence[Hashable]) -> _Floats:
    """Return an indicator matrix, one column a label."""
    numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    return np.eye(len(numbers))[[numbers[label] for label in labels]]


def _fit(model: _Floats, logs: _Floats) -> tuple[_Floats, float, int]:
    """Return the least-squares solution, the residual sum of squares, and the rank."""
    solution, _, rank, _ = np.linalg.lstsq(model, logs, rcond=None)
    rest = logs - model @ solution
    return np.asarray(solution, dtype=float), float(rest @ rest), int(rank)
