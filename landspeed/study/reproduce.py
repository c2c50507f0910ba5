"""The commands that repeat a Study on another machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from landspeed.results.reproduce import command, setup_commands
from landspeed.results.run import origin_of
from landspeed.study.plan import StudyPlan
from landspeed.study.samples import StudyRow


def study_commands(
    plan: StudyPlan,
    rows: Sequence[StudyRow],
    names: Mapping[str, str],
    memory: int | None = None,
) -> list[str]:
    """What to type, in a checkout of landspeed, to measure *plan* again, as *rows* were.

    *names* says what each REF of the plan turned out to be, ``18`` to ``18.6``; *memory* is the
    limit, in bytes, that servers ran in, None for none.
    """
    return [
        *setup_commands(origin_of(row.scalars) for row in rows),
        study_command(plan, names, memory),
    ]


def study_command(plan: StudyPlan, names: Mapping[str, str], memory: int | None = None) -> str:
    """The last of study_commands(), which measures."""
    # a REF without a variant has those of each part, and one with it has it in all parts
    spelled = [word.partition(":") for word in plan.wish.axes.refs or ()]
    refs = dict.fromkeys(f"{names.get(ref, ref)}{colon}{name}" for ref, colon, name in spelled)
    words = ["study", plan.name, *refs, "--preset", plan.wish.size.value, *plan.wish.options]
    return command(*words, *(["--memory", f"{memory // 2**20}m"] if memory else []))
