\set id random(1, 1000)
UPDATE counters SET val = val + 1 WHERE id = :id;
