"""landspeed's own pages, beside asv's: their HTML, scripts and data.

Start at ``data.page_files``.
"""
