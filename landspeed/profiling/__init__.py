"""Show in which functions the costs of two servers differ.

Start at ``diff.costs`` and ``guards.guards_of``.
"""
