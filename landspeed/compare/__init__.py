"""Compare two or more servers until the verdict is certain or the budget is spent.

Start at ``run.compare`` and ``verdict.Verdict``.
"""
