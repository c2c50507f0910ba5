-- pgbench's -N in the account's own branch, told everywhere: all of a transaction is on one worker.
\set bid random(1, :scale)
\set aid (:bid - 1) * 100000 + random(1, 100000)
\set tid (:bid - 1) * 10 + random(1, 10)
\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid AND bid = :bid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid AND bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
