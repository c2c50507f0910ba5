"""The machine that measures: its parts, processes, processors, memory and lock.

Start at ``machine.Machine`` and ``lock.measuring``.
"""
