-- Citus distributes a table by a column that is in each of its keys. A single server gets the
-- same keys, or it would have an easier time.
ALTER TABLE pgbench_accounts DROP CONSTRAINT pgbench_accounts_pkey, ADD PRIMARY KEY (aid, bid);
ALTER TABLE pgbench_tellers DROP CONSTRAINT pgbench_tellers_pkey, ADD PRIMARY KEY (tid, bid);
