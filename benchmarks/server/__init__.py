"""Servers that are measured: data directory, configuration, storage, topology, pooler.

Start at ``cluster.Cluster`` and ``configuration.Configuration``.
"""
