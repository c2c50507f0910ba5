"""Turn records into points and series, and show the runs behind a point.

Start at ``points.Dots`` and ``series.Series``.
"""
