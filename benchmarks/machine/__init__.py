"""The machine that measures: its parts, processes, processors, memory, counters and lock.

Start at ``machine.Machine`` and ``lock.measuring``.
"""
