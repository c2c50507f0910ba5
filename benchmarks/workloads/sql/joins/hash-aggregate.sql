SELECT dim, sum(val), count(*), avg(amount) FROM facts GROUP BY dim;
