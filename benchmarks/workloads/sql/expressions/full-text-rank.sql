SELECT max(ts_rank(vec, to_tsquery('english', 'elephant & fox'))) FROM vals;
