"""Find the commit, release or block size that changed a metric, with a stated error rate.

Start at ``run.bisect``.
"""
