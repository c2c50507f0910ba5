SELECT count(*) FROM vals WHERE ts + interval '3 days' - interval '2 hours' > timestamp '2020-01-10' AND age(ts, timestamp '2019-12-31') < interval '1 year';
