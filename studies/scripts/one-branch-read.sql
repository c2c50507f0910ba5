-- pgbench's -S, told the branch too: with it Citus knows the one worker that has the account.
\set bid random(1, :scale)
\set aid (:bid - 1) * 100000 + random(1, 100000)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid AND bid = :bid;
