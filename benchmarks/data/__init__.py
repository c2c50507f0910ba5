"""Data directories loaded once and copied for every run, and their warm-up.

Start at ``templates.Templates``.
"""
