\set high random(200, 20000)
SELECT id, val FROM items WHERE id <= :high ORDER BY id DESC LIMIT 200;
