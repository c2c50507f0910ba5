INSERT INTO plain SELECT i, i, 'a short text' FROM generate_series(1, 200) AS i;
