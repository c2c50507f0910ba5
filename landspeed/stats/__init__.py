"""Statistics on arrays, without knowledge of records or servers.

Start at ``summary.Summary`` and ``confidence_sequence.interval``.
"""
