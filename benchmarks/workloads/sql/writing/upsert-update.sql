\set id random(1, 1000)
INSERT INTO counters VALUES (:id, 1, 1, 'x') ON CONFLICT (id) DO UPDATE SET val = counters.val + 1;
