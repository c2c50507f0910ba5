\set x random(0, 900)
\set y random(0, 900)
SELECT count(*) FROM items WHERE area && box(point(:x, :y), point(:x + 50, :y + 50));
