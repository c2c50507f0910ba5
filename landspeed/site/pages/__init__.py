"""landspeed's own pages, beside asv's: their HTML, scripts and data.

Start at ``frame.VIEWS``, the list of pages, and ``data.page_files``, their data.
"""
