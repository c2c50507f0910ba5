"""What a session costs, from callgrind's output of each."""

from __future__ import annotations

import pytest

from benchmarks.counted.sessions import sessions
from benchmarks.counted.slope import NotRepeatedError, sample_of, slopes_of


def output(instructions: int) -> str:
    return (
        f"fn=(1) PostgresMain\n1 {instructions - 10}\ncfn=(2) exit\ncalls=1 0\n1 10\n"
        f"fn=(2)\n1 10\ntotals: {instructions}\n"
    )


def test_every_other_session_is_in_each_of_two_slopes_and_all_functions_count() -> None:
    slopes = slopes_of(sessions([output(number) for number in (1000, 1002, 1000, 1002)]))
    assert [slope.instructions for slope in slopes] == [1000, 1002]
    assert slopes[0].profile().own == {"PostgresMain": 990, "exit": 10}
    assert slopes[0].profile().edges["PostgresMain", "exit"].calls == 1


def test_sessions_that_differ_by_more_than_the_limit_are_refused() -> None:
    with pytest.raises(NotRepeatedError):
        sample_of(slopes_of(sessions([output(1000), output(1002)] * 10)), "connect")
