"""Make asv's part of the site, incrementally where possible.

Start at ``make.make_site``.
"""
