"""The command line: one module for each verb.

Start at ``main.main``.
"""
