"""Builds in Docker: toolchain images, and the Container that Recipes run in.

Start at ``container.Container``.
"""
