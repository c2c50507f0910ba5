SELECT count(*), sum(val), avg(amount), min(t), max(val), stddev(val) FROM facts;
