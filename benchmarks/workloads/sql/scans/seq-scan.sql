SELECT count(*), sum(val) FROM items WHERE val % 3 = 1;
