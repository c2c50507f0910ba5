SELECT dim, sum(val), count(*) FROM facts GROUP BY dim;
