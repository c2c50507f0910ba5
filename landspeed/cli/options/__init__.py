"""Options that several verbs share.

Start at ``common.json_option``.
"""
