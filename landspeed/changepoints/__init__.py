"""Changes of level: nominated by a series, confirmed by fresh samples.

Start at ``scan.scan_records`` and ``confirm.ConfirmRun``.
"""
