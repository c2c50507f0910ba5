"""Check whether this machine is fit to measure: what was seen, what it means, how to fix it.

Start at ``checks.checks``.
"""
