"""Plan and measure what is missing, interleaved.

Start at ``campaign.Campaign`` and ``suite_compare.compare_suite``.
"""
