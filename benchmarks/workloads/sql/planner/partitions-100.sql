\set id random(0, 999)
SELECT val FROM parts_100 WHERE id = :id;
