"""The parts that a command needs, put together for this machine and project.

Start at ``session.Session`` and ``target.Target``.
"""
