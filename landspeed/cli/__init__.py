"""The command line: one module for each verb; ``bisect_all`` is ``bisect --all``.

Start at ``main.main``.
"""
