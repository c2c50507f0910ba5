"""An install of PostgreSQL → samples: servers, clients, workloads, observation, records.

Start at ``measure.measure`` and ``applicability.planned_cells``.
"""
