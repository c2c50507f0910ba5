"""Options that several verbs share.

Start at ``output.json_option``, for most verbs, and ``scenario.comparison_options``, for two:
compare and bisect.
"""
