INSERT INTO decoded SELECT i, i, repeat('x', i % 50) FROM generate_series(1, 300) AS i;
UPDATE decoded SET val = val + 1;
UPDATE decoded SET t = t || 'y' WHERE id <= 100;
DELETE FROM decoded;
