SELECT count(*) FROM (SELECT DISTINCT dim, few FROM facts) AS d;
