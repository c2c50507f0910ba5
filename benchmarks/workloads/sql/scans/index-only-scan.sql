\set low random(0, 19000)
SELECT count(*) FROM items WHERE val BETWEEN :low AND :low + 500;
