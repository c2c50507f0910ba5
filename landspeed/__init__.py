"""What decides and shows: plans, comparisons, bisections, changepoints, site, command line.

Start at ``cli.main.main``.
"""
