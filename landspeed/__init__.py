"""What decides and what shows: scheduling, publishing, and the command line.

Start at ``cli.main.main``.
"""
