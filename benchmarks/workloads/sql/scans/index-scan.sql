\set val random(0, 20010)
SELECT id, name FROM items WHERE val = :val;
