"""landspeed's own pages, beside asv's: their HTML, scripts and data."""
