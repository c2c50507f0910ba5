"""Raw records: written once, merged by union, read as one table.

Start at ``store.RecordStore`` and ``record.Record``.
"""
