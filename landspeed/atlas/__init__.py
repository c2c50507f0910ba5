"""Find every commit of a range that changed the cost of any of many workloads.

Start at ``run.Atlas``.
"""
