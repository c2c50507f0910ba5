"""Options that several verbs share.

Start at ``common``, for most verbs, and ``scenario.comparison_options``, for compare and bisect.
"""
