"""Instructions per transaction, counted exactly by callgrind.

Start at ``count.Counter`` and ``valgrind.require_countable``.
"""
