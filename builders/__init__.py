"""A release or commit in, a proven install prefix out.

Start at ``builder.Builder`` and ``recipe.recipe``; releases and recipes are TOML files here.
"""
