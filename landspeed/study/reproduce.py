"""The commands that repeat a study on another machine."""

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
    """Return the commands that measure *plan* again as *rows* were, in a checkout of landspeed.

    *names* maps each REF of the plan to what was measured, such as ``18`` to ``18.6``. *memory*
    is the servers' limit in bytes, None for none.
    """
    return [
        *setup_commands(origin_of(row.scalars) for row in rows),
        study_command(plan, names, memory),
    ]


def study_command(plan: StudyPlan, names: Mapping[str, str], memory: int | None = None) -> str:
    """Return the last of study_commands(), which measures."""
    # A REF without a variant has those of each part; one with a variant has it in all parts.
    spelled = [word.partition(":") for word in plan.request.axes.refs or ()]
    refs = dict.fromkeys(f"{names.get(ref, ref)}{colon}{name}" for ref, colon, name in spelled)
    words = ["study", plan.name, *refs, "--preset", plan.request.size.value, *plan.request.options]
    return command(*words, *(["--memory", f"{memory // 2**20}m"] if memory else []))
