\set id random(1, 20000)
SELECT id FROM items WHERE name = 'item ' || md5((:id)::text);
