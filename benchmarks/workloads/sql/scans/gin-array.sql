\set a random(0, 49)
SELECT count(*) FROM items WHERE tags @> ARRAY[:a]::int[];
