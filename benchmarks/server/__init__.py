"""Servers that are measured: data directory, configuration, storage, topology, pooler."""
