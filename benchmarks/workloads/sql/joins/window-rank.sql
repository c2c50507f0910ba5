SELECT max(r) FROM (SELECT rank() OVER (PARTITION BY few ORDER BY val) AS r FROM facts) AS w;
