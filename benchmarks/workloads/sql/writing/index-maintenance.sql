INSERT INTO changing SELECT i, i * 7919 % 503, 'thing ' || i % 90, point(i * 7919 % 211, i * 104729 % 223), ('10.' || i % 4 || '.' || i % 64 || '.' || i % 250)::inet, int4range(i * 2, i * 2 + 2), ARRAY['t' || i % 30, 'u' || i % 7], to_tsvector('simple', 'w' || i % 50 || ' word'), box(point(i, i), point(i + 2, i + 3)) FROM generate_series(1, 400) AS i;
UPDATE changing SET val = val + 1, name = name || ' x', tags = tags || 'v'::text, p = p + point(1, 1), box = box + point(1, 1) WHERE id % 3 = 0;
DELETE FROM changing WHERE id > 50;
VACUUM changing;
SELECT gin_clean_pending_list('changing_gin'), brin_summarize_new_values('changing_brin');
INSERT INTO changing SELECT i, i % 7, 'again ' || i % 90, point(i, i), '10.1.1.1', int4range(i * 2, i * 2 + 2), ARRAY['t' || i], to_tsvector('simple', 'w' || i), box(point(i, i), point(i + 2, i + 3)) FROM generate_series(1001, 1200) AS i;
DELETE FROM changing;
VACUUM (ANALYZE) changing;
