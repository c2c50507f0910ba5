WITH sums AS (SELECT dim, sum(val) AS total FROM facts GROUP BY dim)
SELECT count(*) FROM sums AS a JOIN sums AS b ON a.dim = b.dim WHERE a.total > 1000;
