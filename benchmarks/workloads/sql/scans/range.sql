\set low random(1, 19800)
SELECT sum(val) FROM items WHERE id BETWEEN :low AND :low + 199;
