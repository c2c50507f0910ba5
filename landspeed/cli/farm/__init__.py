"""The farm verbs: what the workflows on GitHub Actions call.

Start at ``plan.plan_``, ``results.results_`` and ``issues.issues_``.
"""
