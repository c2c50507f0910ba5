"""Make the site: records → asv's result files → asv's pages and landspeed's own."""
