"""Take one sample, timed or counted, and record it before its number is used.

Start at ``sampler.Sampler``.
"""
