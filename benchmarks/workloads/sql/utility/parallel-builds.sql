BEGIN;
CREATE INDEX made_1 ON heap (val, t);
CREATE INDEX made_2 ON heap USING brin (id, val) WITH (pages_per_range = 2);
CREATE INDEX made_3 ON heap USING gin (tags);
ROLLBACK;
