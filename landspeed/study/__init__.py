"""Studies: one question over named axes, from a file to a report.

Start at ``run.run_study``.
"""
