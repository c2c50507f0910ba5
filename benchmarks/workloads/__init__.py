"""What is asked of a server: scenarios, presets, scripts, metrics, and points.

Start at ``catalog.choose``, ``scenario.Cell`` and ``metrics.METRICS``.
"""
