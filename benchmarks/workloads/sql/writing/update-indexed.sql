\set id random(1, 1000)
UPDATE counters SET other = other + 1 WHERE id = :id;
