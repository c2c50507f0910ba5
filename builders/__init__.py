"""A release or commit in, a proven install prefix out.

Start at ``builder.Builder`` and ``recipe.recipe``.
"""
