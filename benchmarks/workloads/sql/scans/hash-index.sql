\set h random(1, 20000)
SELECT id FROM items WHERE h = :h;
