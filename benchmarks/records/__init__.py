"""Raw records: written once, merged by union, read as one table."""
