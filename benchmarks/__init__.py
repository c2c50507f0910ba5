"""An install of PostgreSQL → samples: servers, clients, workloads, observation, records."""
