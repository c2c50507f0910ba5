SELECT count(*) FROM facts AS f WHERE NOT EXISTS (SELECT 1 FROM others AS o WHERE o.fact = f.id);
