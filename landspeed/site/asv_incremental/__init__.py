"""Make a site from the last one, byte for byte as asv would make it."""
