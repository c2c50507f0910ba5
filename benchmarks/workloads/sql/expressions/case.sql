SELECT sum(CASE WHEN i < 100 THEN 1 WHEN i < 1000 THEN 2 WHEN i % 2 = 0 THEN 3 ELSE 4 END + coalesce(nullif(i % 5, 0), 9)) FROM vals;
