\set a random(0, 99)
SELECT count(*) FROM items WHERE vec @@ to_tsquery('simple', 'w' || :a || ' & w' || :a + 200);
