\set id random(0, 9999)
SELECT val FROM parts_1000 WHERE id = :id;
