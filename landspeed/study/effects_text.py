"""An Attribution in words: what each setting does, and how far it is to be believed."""

from __future__ import annotations

from collections.abc import Iterator

from landspeed.study.ablation import Ablation
from landspeed.study.effects import SURE, Attribution, ScreeningResult, StudyContext
from landspeed.study.tables import study_table


def ranking_table(ranking: Attribution) -> str:
    """What each setting does, in each Company, the largest first."""
    p = ["p, Holm's"] if ranking.screened else []
    lines = []
    for setting in ranking.settings:
        found = [ranking.effect(setting, company) for company in ranking.companies]
        line = [setting, *(str(one.ratio) if one else "-" for one in found)]
        averaged = ranking.effect(setting, StudyContext.AVERAGED)
        lines.append([*line, _p(averaged.p if averaged else None)] if p else line)
    titles = ["setting", *(f"{company}, 95 %" for company in ranking.companies), *p]
    return study_table(titles, lines, 1)


def ranking_text(ranking: Attribution, ablation: Ablation) -> Iterator[str]:
    """The paragraphs that a ranking is to be read with."""
    if ranking.all_of_them is not None:
        yield f"All of them at once, to default: {ranking.all_of_them}."
    if ranking.screened is not None:
        yield _design(ablation)
        yield _belief(ranking.screened)
        yield _company(ranking.screened)
    elif ablation.is_screened:
        yield (
            f"Too few of the {len(ablation.screen)} profiles of the screening design were measured "
            "to tell what a setting does."
        )
    if StudyContext.ALONE in ranking.companies:
        yield (
            "Each interval of what was added to default, or to all others, is for itself: of "
            "twenty settings that do nothing, one seems to do something."
        )


def _design(ablation: Ablation) -> str:
    rows, number = len(ablation.screen), len(ablation.names)
    return (
        f"*Averaged over the others*: {rows} profiles, each of which has some of the {number} "
        f"settings and not the others, so that every setting is in half of them, and with every "
        f"other one in a quarter: a Plackett–Burman design of {rows // 2} rows (Biometrika 33, "
        "1946) and its mirror image (Box and Wilson, J. R. Stat. Soc. B 13, 1951); *Provenance* "
        "spells them out. Every run tells of every setting. One at a time, as narrow intervals "
        f"take {len(ablation.one_at_a_time)} profiles, each measured {rows / 4:g} times as often."
    )


def _belief(screened: ScreeningResult) -> str:
    if not screened.freedom:
        return "One round tells nothing of chance: the effects have no intervals."
    number = len(screened.effects)
    return (
        "Effects are by least squares on logarithms, rounds as blocks; intervals are Student's, "
        "from what runs of one profile differ by beyond their rounds "
        f"({screened.freedom} degrees of freedom), each for itself. *p* is corrected for there "
        f"being {number} (Holm, Scand. J. Stat. 6, 1979): in at most {SURE:.0%} of such rankings "
        f"is any setting that does nothing below {SURE:g}."
    )


def _company(screened: ScreeningResult) -> str:
    """What settings do together, and what of it is in the effects."""
    if screened.missing:
        clear = (
            f"{screened.missing} of its profiles have no run: what two settings do together may be "
            "in the effect of a third."
        )
    else:
        clear = (
            "What two settings do together is in no effect; what three do may be. Which two it is "
            "cannot be told: what they do is mixed with what others do."
        )
    if screened.together is None:
        return clear
    more = (
        "what a setting does depends on others: its effect is an average over them"
        if screened.together < SURE
        else "nothing says that what a setting does depends on others"
    )
    chance = _p(screened.together).replace("<", "< ")
    sign = "" if chance.startswith("<") else "= "
    return f"{clear} Here {more} (p {sign}{chance}, by {screened.beyond} contrasts)."


def _p(value: float | None) -> str:
    if value is None:
        return "-"
    return "<0.001" if value < 0.001 else f"{value:.3f}"
