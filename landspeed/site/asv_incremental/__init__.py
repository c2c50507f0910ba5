"""Make asv's part of the site, incrementally where possible. ``make.make_site`` is the way in."""
