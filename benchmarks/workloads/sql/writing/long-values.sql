SELECT sum(length(body)), sum(length(raw)), max(doc ->> 'id'), max(substr(body, 3000, 20)), max(md5(substring(raw FROM 2000 FOR 50))), sum(pg_column_size(body)), sum(octet_length(raw)) FROM pages;
BEGIN;
UPDATE pages SET body = body || 'more', doc = doc || '{"x": 1}' WHERE id <= 5;
UPDATE pages SET id = id + 100 WHERE id > 15;
INSERT INTO pages SELECT id + 200, body || 'copied', raw, doc FROM pages WHERE id <= 5;
INSERT INTO pages SELECT 300 + i, repeat('abc', i * 1000), NULL, NULL FROM generate_series(1, 5) AS i;
DELETE FROM pages WHERE id BETWEEN 6 AND 8;
SELECT count(DISTINCT body), max(body) > 'a' FROM pages WHERE id < 10;
ROLLBACK;
