INSERT INTO audited SELECT i, i FROM generate_series(1, 50) AS i;
