"""What the workflows call: plan what to measure, carry results between jobs, keep the issues.

Start at ``plan.TrackingPlan`` and ``merge.merge_results``.
"""
