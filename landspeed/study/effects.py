"""Effects: what each setting of an Ablation does, from the Runs of its profiles. Pure."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from landspeed.stats.multiple_testing import holm
from landspeed.stats.plackett_burman import MANY
from landspeed.stats.students_t import f_tail, interval_quantile, t_tail
from landspeed.study.ablation import Ablation
from landspeed.study.samples import Ratio, StudyRow, Value, goes, grouped

SURE = 0.05
"""The share of rankings in which a setting that does nothing may be said to do something."""

_Floats = npt.NDArray[np.float64]


class StudyContext(StrEnum):
    """A Company is what a setting is added to: none of the others, all, or some of them."""

    ALONE = "added to default"
    LAST = "added to all others"
    AVERAGED = "averaged over the others"


@dataclass(frozen=True, kw_only=True)
class Effect:
    """An Effect is what one setting does: its Ratio, with it to without it.

    ``p`` is, of what is AVERAGED, Holm's p-value that it does nothing: corrected for so many
    settings as are screened.
    """

    setting: str
    company: StudyContext
    ratio: Ratio
    p: float | None = None

    @property
    def is_sure(self) -> bool:
        """Whether it is more than chance: by ``p``, or by its own interval where it has none."""
        return self.p < SURE if self.p is not None else self.ratio.is_sure


@dataclass(frozen=True, kw_only=True)
class ScreeningResult:
    """A Screened is what the Runs of a screening design say, as a whole.

    ``freedom`` is of the noise, ``missing`` counts profiles without a Run. ``together`` is the
    p-value that settings only add up, of ``beyond`` degrees of freedom; None if it cannot be known.
    """

    effects: tuple[Effect, ...]
    freedom: int
    missing: int
    beyond: int
    together: float | None


@dataclass(frozen=True, kw_only=True)
class Attribution:
    """An Attribution is every Effect that is known, by setting, the largest first.

    Where settings were screened it is by what is averaged. ``all_of_them`` is what they do at once.
    """

    effects: tuple[Effect, ...]
    screened: ScreeningResult | None
    all_of_them: Ratio | None

    @classmethod
    def of(cls, rows: Sequence[StudyRow], column: str, ablation: Ablation) -> Attribution:
        """The Attribution of the settings of *ablation* by what *column* of *rows* says."""
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
            all_of_them=Ratio.of(every, none, column),
        )

    @property
    def settings(self) -> tuple[str, ...]:
        """The settings, the one that does most first."""
        return tuple(dict.fromkeys(one.setting for one in self.effects))

    @property
    def companies(self) -> tuple[StudyContext, ...]:
        """The Companies in which any of them is known."""
        return tuple(
            company
            for company in StudyContext
            if any(one.company is company for one in self.effects)
        )

    @property
    def settings_to_look_closer_at(self) -> tuple[str, ...]:
        """Those few that were screened and do something, if there are two at least."""
        sure = (
            [one.setting for one in self.screened.effects if one.is_sure] if self.screened else []
        )
        found = tuple(name for name in self.settings if name in sure)[: MANY - 1]
        return found if len(found) > 1 else ()

    def effect(self, setting: str, company: StudyContext) -> Effect | None:
        """What *setting* does in that *company*; None if it is not known."""
        return next((e for e in self.effects if (e.setting, e.company) == (setting, company)), None)


def _one_at_a_time(
    by_profile: dict[str, list[StudyRow]], column: str, ablation: Ablation
) -> list[Effect]:
    """What each setting does alone, and what last of all."""
    none, every = ablation.profile(()), ablation.profile(ablation.names)
    found = []
    for name in ablation.names:
        for company, with_, without in (
            (StudyContext.ALONE, ablation.added(name), none),
            (StudyContext.LAST, every, ablation.without(name)),
        ):
            some, base = by_profile.get(with_), by_profile.get(without)
            ratio = Ratio.of(some, base, column) if some and base else None
            if ratio is not None:
                found.append(Effect(setting=name, company=company, ratio=ratio))
    return found


def screen(rows: Sequence[StudyRow], column: str, ablation: Ablation) -> ScreeningResult | None:
    """What the design of *ablation* says of *column*; None if too few of its profiles have Runs.

    Main effects on the logarithm by least squares, rounds as blocks. The noise is what Runs of
    one profile differ by beyond their rounds: what settings do together is no noise. Each column
    of the design weighs all profiles alike, so the interval holds where some vary more than
    others. SOURCE of the correction: Holm, "A simple sequentially rejective multiple test
    procedure", Scand. J. Stat. 6 (1979).
    """
    signs = dict(zip(ablation.screen, ablation.design, strict=True))
    used = [r for r in rows if r.axes["profile"] in signs and (r.scalars[column] or 0) > 0]
    if not used:
        return None
    logs = np.array([math.log(row.scalars[column]) for row in used])
    contexts = [_context(row) for row in used]
    at = goes(used)
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
    # half of the difference that a factor makes is what its ±1 is multiplied by
    effects, spread = _doubled(solution, model, factors.shape[1])
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
    """An Effect of each setting whose log ratio is in *middles*, its standard error in *errors*."""
    if errors is None:
        for name, middle in zip(ablation.names, middles, strict=True):
            ratio = Ratio(value=math.exp(middle), low=None, high=None)
            yield Effect(setting=name, company=StudyContext.AVERAGED, ratio=ratio)
        return
    halves = interval_quantile(freedom) * errors
    corrected = holm(
        [
            2 * t_tail(abs(middle) / error if error else math.inf, freedom)
            for middle, error in zip(middles, errors, strict=True)
        ]
    )
    for name, middle, half, p in zip(ablation.names, middles, halves, corrected, strict=True):
        low, high = math.exp(middle - half), math.exp(middle + half)
        ratio = Ratio(value=math.exp(middle), low=low, high=high)
        yield Effect(setting=name, company=StudyContext.AVERAGED, ratio=ratio, p=p)


def _context(row: StudyRow) -> tuple[Value, ...]:
    """Where *row* is on all axes but that of its settings: Runs are compared within it."""
    return tuple(value for axis, value in row.axes.items() if axis not in ("profile", "settings"))


def _indicators(labels: Sequence[Hashable]) -> _Floats:
    """A column for every label: 1 in the rows that have it, else 0."""
    numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    return np.eye(len(numbers))[[numbers[label] for label in labels]]


def _fit(model: _Floats, logs: _Floats) -> tuple[_Floats, float, int]:
    """The least-squares solution, the sum of squares that it leaves, and the model's rank."""
    solution, _, rank, _ = np.linalg.lstsq(model, logs, rcond=None)
    rest = logs - model @ solution
    return np.asarray(solution, dtype=float), float(rest @ rest), int(rank)


def _doubled(solution: _Floats, model: _Floats, factors: int) -> tuple[_Floats, _Floats]:
    """Twice the last *factors* coefficients, and their standard errors where noise is 1."""
    spread = np.sqrt(np.diag(np.linalg.inv(model.T @ model)))
    return 2 * solution[-factors:], 2 * spread[-factors:]
