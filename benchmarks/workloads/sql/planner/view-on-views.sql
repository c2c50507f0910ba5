SELECT max(other) FROM v8 WHERE id = 7;
