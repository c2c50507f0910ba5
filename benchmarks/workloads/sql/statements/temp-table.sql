BEGIN;
CREATE TEMPORARY TABLE scratch (id int, val int) ON COMMIT DROP;
INSERT INTO scratch SELECT id, val FROM numbers WHERE id <= 10;
SELECT sum(val) FROM scratch;
COMMIT;
