"""A release or commit in, a proven install prefix out.

Releases and recipes are TOML files. Start at ``builder.Builder`` and ``recipe.recipe``.
"""
