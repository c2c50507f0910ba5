BEGIN;
MERGE INTO products AS p USING (SELECT i AS id, 'merged ' || i AS name FROM generate_series(41, 60) AS i) AS s ON p.id = s.id WHEN MATCHED AND s.id < 45 THEN DELETE WHEN MATCHED THEN UPDATE SET name = s.name, stock = stock + 1 WHEN NOT MATCHED THEN INSERT (id, name, price) VALUES (s.id, s.name, 9.99);
MERGE INTO parted AS p USING (SELECT i AS id, 'south' AS region, date '2020-01-01' + i % 365 AS at FROM generate_series(1, 60) AS i) AS s ON p.id = s.id AND p.region = s.region AND p.at = s.at WHEN MATCHED AND p.id % 7 = 0 THEN DO NOTHING WHEN MATCHED THEN UPDATE SET val = p.val + 1 WHEN NOT MATCHED AND s.id > 50 THEN INSERT VALUES (s.id, s.region, s.at, 1);
MERGE INTO customers AS c USING customers AS d ON c.id = d.id AND d.id < 5 WHEN MATCHED THEN UPDATE SET credit = d.credit + 1;
SELECT count(*) FROM products;
ROLLBACK;
