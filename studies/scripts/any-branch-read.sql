-- pgbench's -S as it is: without the branch every worker that has accounts is asked.
\set aid random(1, 100000 * :scale)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
