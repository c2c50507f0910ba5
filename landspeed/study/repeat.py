"""The commands that repeat a Study on another machine."""

from __future__ import annotations

from collections.abc import Sequence

from landspeed.repeat import command, preparing, target_of
from landspeed.study.planning import StudyPlan
from landspeed.study.samples import StudyRow


def study_commands(
    plan: StudyPlan, rows: Sequence[StudyRow], memory: int | None = None
) -> list[str]:
    """What to type, in a checkout of landspeed, to measure *plan* again, as *rows* were.

    *memory* is the limit, in bytes, that servers ran in, None for none.
    """
    return [*preparing([row.scalars for row in rows]), study_command(plan, rows, memory)]


def study_command(plan: StudyPlan, rows: Sequence[StudyRow], memory: int | None = None) -> str:
    """The last of study_commands(), which measures."""
    wish, preset = plan.wish, plan.preset
    refs = dict.fromkeys(target_of(row.scalars) for row in rows) if wish.axes.refs else ()
    words = ["study", plan.name, *refs, "--preset", wish.size.value]
    for option, values in (
        ("--tier", wish.axes.tiers),
        ("--mode", wish.axes.modes),
        ("--protocol", wish.axes.protocols),
        ("--clients", wish.axes.clients),
        ("--profile", wish.axes.profiles),
        ("--storage", wish.axes.storages),
    ):
        words += [word for value in values or () for word in (option, str(value))]
    words += ["--samples", str(preset.samples)] if wish.repeats else []
    words += ["--seconds", str(preset.seconds)] if wish.seconds else []
    words += [w for tier, scale in wish.scales.items() for w in ("--scale", f"{tier}={scale}")]
    words += [
        word
        for name, value in wish.settings
        for word in ("--setting", name if value is None else f"{name}={value}")
    ]
    limit = memory // 2**20 if memory else None
    words += ["--memory", f"{limit}m"] if limit else []
    words += [w for path, weight in wish.files for w in ("--script", f"{path}@{weight}")]
    return command(*words)
