"""The scores that noise alone reaches; generated, do not edit.

``python -m perf.calibration --series 40000 --seed 20261120 > landspeed/stats/glr_table.py``

The highest scores in 200 commits without a change, over 40000 series of each
kind of noise (normal, AR(1) 0.3, AR(1) 0.6, t(3)), for the probabilities of TAILS:

normal: 2.958, 3.294, 3.494, 3.672, 3.880, 4.027, 4.161, 4.357, 4.505, 4.638
AR(1) 0.3: 2.951, 3.335, 3.559, 3.759, 4.008, 4.181, 4.348, 4.551, 4.698, 4.936
AR(1) 0.6: 2.865, 3.272, 3.513, 3.725, 3.992, 4.165, 4.342, 4.566, 4.722, 4.869
t(3): 3.037, 3.409, 3.628, 3.832, 4.069, 4.245, 4.398, 4.586, 4.712, 4.884
"""

from __future__ import annotations

COMMITS = 200
"""Length of the series."""

TAILS: tuple[tuple[float, float], ...] = (
    (0.5, 3.037),
    (0.2, 3.409),
    (0.1, 3.628),
    (0.05, 3.832),
    (0.02, 4.069),
    (0.01, 4.245),
    (0.005, 4.398),
    (0.002, 4.586),
    (0.001, 4.722),
    (0.0005, 4.936),
)
"""Pairs of a probability and the score exceeded with it, for the worst noise."""
