"""Talk to a person or a workflow log: progress, Markdown, durations, annotations.

Start at ``progress.say`` and ``table.rich_table``.
"""
