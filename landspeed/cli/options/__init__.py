"""Options that several verbs share.

Start at ``common``: options of most verbs. Those of compare and bisect are in ``scenario``.
"""
