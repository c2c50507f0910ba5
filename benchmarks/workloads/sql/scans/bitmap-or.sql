\set one random(0, 99)
\set two random(0, 19900)
SELECT count(price) FROM items WHERE grp = :one OR val BETWEEN :two AND :two + 100;
