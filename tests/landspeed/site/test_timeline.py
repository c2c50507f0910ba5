"""Changes drawn on a time line."""

from __future__ import annotations

import re

from landspeed.site.pages.timeline import TimelinePoint, timeline


def point(day: str, ratio: float, title: str = "a change") -> TimelinePoint:
    return TimelinePoint(row="joins", day=day, ratio=ratio, title=title, link="commit.html#abc")


def test_a_later_change_is_further_right_and_a_larger_one_is_larger_and_behind() -> None:
    drawn = timeline(
        [point("2024-08-01", 1.02), point("2024-09-01", 0.7)], "2024-07-01", "2025-07-01"
    )
    large, small = re.findall(r'<circle class="(\w+)" cx="([\d.]+)" cy="13" r="([\d.]+)"', drawn)
    assert (large[0], small[0]) == ("fall", "rise")
    assert float(large[1]) > float(small[1])
    assert float(large[2]) > float(small[2])


def test_words_of_others_are_no_html() -> None:
    drawn = timeline([point("2024-08-01", 2.0, "<script>")], "2024-08-01", "2024-08-01")
    assert "<script>" not in drawn
    assert "&lt;script&gt;" in drawn


def test_without_a_change_there_is_no_time_line() -> None:
    assert timeline([], "2024-07-01", "2025-07-01") == ""
