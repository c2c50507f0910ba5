EXPLAIN SELECT count(*) FROM j1 JOIN j2 ON j2.ref = j1.id JOIN j3 ON j3.ref = j2.id WHERE j1.val > 5 GROUP BY j3.val;
