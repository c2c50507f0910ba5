INSERT INTO keyed SELECT i, i, 'a short text' FROM generate_series(1, 500) AS i;
UPDATE keyed SET val = val + 1;
DELETE FROM keyed;
