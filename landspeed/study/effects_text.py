"""An attribution in words: the effect of each setting, and how certain it is."""

from __future__ import annotations

from collections.abc import Iterator

from landspeed.study.ablation import Ablation
from landspeed.study.effects import SURE, Attribution, ScreeningResult, StudyContext
from landspeed.study.tables import study_table


def ranking_table(ranking: Attribution) -> str:
    """Return a table of each setting's effect in each context, the largest first."""
    p = ["p, Holm's"] if ranking.screened else []
    lines = []
    for setting in ranking.settings:
        found = [ranking.effect(setting, context) for context in ranking.contexts]
        line = [setting, *(str(one.ratio) if one else "-" for one in found)]
        averaged = ranking.effect(setting, StudyContext.AVERAGED)
        lines.append([*line, _p(averaged.p if averaged else None)] if p else line)
    titles = ["setting", *(f"{context}, 95 %" for context in ranking.contexts), *p]
    return study_table(titles, lines, 1)


def ranking_text(ranking: Attribution, ablation: Ablation) -> Iterator[str]:
    """Yield the paragraphs that explain a ranking."""
    if ranking.all_of_them is not None:
        yield f"All settings at once, compared with default: {ranking.all_of_them}."
    if ranking.screened is not None:
        yield _design(ablation)
        yield _intervals(ranking.screened)
        yield _interactions(ranking.screened)
    elif ablation.is_screened:
        yield (
            f"Too few of the {len(ablation.screen)} configurations of the screening design were "
            "measured to estimate effects."
        )
    if StudyContext.ALONE in ranking.contexts:
        yield (
            "Intervals of settings added to default, or to all others, are not corrected for their "
            "number: of twenty settings without effect, one appears to have one."
        )


def _design(ablation: Ablation) -> str:
    rows, number = len(ablation.screen), len(ablation.names)
    return (
        f"*Averaged over the others*: {rows} configurations, each with some of the {number} "
        "settings. Every setting is on in half of them, and every pair of settings in a quarter. "
        f"This is a Plackett–Burman design of {rows // 2} rows (Biometrika 33, 1946) and its "
        "mirror image (Box and Wilson, J. R. Stat. Soc. B 13, 1951); *Provenance* lists the "
        "configurations. Every run contributes to the estimate of every setting. One setting at a "
        f"time, equally narrow intervals would take {len(ablation.one_at_a_time)} configurations, "
        f"each measured {rows / 4:g} times as often."
    )


def _intervals(screened: ScreeningResult) -> str:
    if not screened.freedom:
        return "A single round does not show the noise, so the effects have no intervals."
    number = len(screened.effects)
    return (
        "Effects are estimated by least squares on logarithms, with rounds as blocks. Intervals "
        "are Student's, from the variation between runs of one configuration beyond their rounds "
        f"({screened.freedom} degrees of freedom), and not corrected. *p* is corrected for "
        f"{number} settings (Holm, Scand. J. Stat. 6, 1979): at most {SURE:.0%} of such rankings "
        f"show any setting without effect below {SURE:g}."
    )


def _interactions(screened: ScreeningResult) -> str:
    """Explain interactions of settings, and what they add to the effects."""
    if screened.missing:
        clear = (
            f"{screened.missing} of its configurations have no run: the interaction of two "
            "settings may be part of the effect of a third."
        )
    else:
        clear = (
            "The effects are free of interactions of two settings, but not of three. The design "
            "cannot show which two settings interact."
        )
    if screened.together is None:
        return clear
    more = (
        "the effect of a setting depends on others, and the effect shown is an average over them"
        if screened.together < SURE
        else "nothing shows that the effect of a setting depends on others"
    )
    chance = _p(screened.together).replace("<", "< ")
    sign = "" if chance.startswith("<") else "= "
    return f"{clear} Here {more} (p {sign}{chance}, by {screened.beyond} contrasts)."


def _p(value: float | None) -> str:
    if value is None:
        return "-"
    return "<0.001" if value < 0.001 else f"{value:.3f}"
