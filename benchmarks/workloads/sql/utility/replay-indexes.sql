INSERT INTO changing SELECT i, i % 50, 'thing ' || i % 90, point(i * 7919 % 211, i * 104729 % 223), ('10.' || i % 4 || '.' || i % 64 || '.' || i % 250)::inet, int4range(i * 2, i * 2 + 2), ARRAY['t' || i % 30, 'u' || i % 7], to_tsvector('simple', 'w' || i % 50 || ' word'), box(point(i, i), point(i + 2, i + 3)) FROM generate_series(1, 200) AS i;
UPDATE changing SET val = val + 1, name = name || ' x', p = p + point(1, 1) WHERE id % 3 = 0;
DELETE FROM changing;
VACUUM changing;
