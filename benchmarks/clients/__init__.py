"""The programs that put load on a server: pgbench, and sysbench beside it.

Start at ``pgbench.Pgbench``.
"""
