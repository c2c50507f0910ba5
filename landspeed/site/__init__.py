"""Make the site: records → asv's result files → asv's pages and landspeed's own.

Start at ``update.update_site``.
"""
