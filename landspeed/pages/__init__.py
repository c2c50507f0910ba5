"""The pages for PostgreSQL people beside asv's: what they draw, as files of the site."""
