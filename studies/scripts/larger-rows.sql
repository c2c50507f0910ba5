-- Rows of some 500 bytes in place of pgbench's 120; in the table itself and not compressed,
-- for blocks from 2 kB on. ALTER TABLE rewrites all of it, with its index.
ALTER TABLE pgbench_accounts ALTER COLUMN filler SET STORAGE PLAIN;
ALTER TABLE pgbench_accounts ALTER COLUMN filler TYPE char(450);
