"""Plan and measure what is missing, interleaved; compare suites of workloads, and patches.

Start at ``campaign.Campaign`` and ``suite_compare.compare_suite``.
"""
