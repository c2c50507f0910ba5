\set x random(0, 1000)
\set y random(0, 1000)
SELECT id FROM points ORDER BY p <-> point(:x, :y) LIMIT 10;
