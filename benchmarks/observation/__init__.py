"""What the machine and the server were doing while a client ran.

Start at ``monitor.watching`` and ``snapshot.Observation``.
"""
