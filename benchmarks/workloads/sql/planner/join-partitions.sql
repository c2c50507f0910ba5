EXPLAIN SELECT count(*) FROM parts_100 a JOIN parts_100 b USING (id) JOIN parts_100 c USING (id);
