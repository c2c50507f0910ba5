"""The pages for PostgreSQL people that stand beside asv's."""
