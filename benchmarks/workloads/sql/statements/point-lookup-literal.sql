\set id random(1, 10000)
SELECT val FROM numbers WHERE id = :id;
