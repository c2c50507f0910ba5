SELECT count(o.id), count(*) FROM facts AS f LEFT JOIN others AS o ON o.fact = f.id;
