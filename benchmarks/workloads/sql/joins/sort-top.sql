SELECT val, t FROM facts ORDER BY val LIMIT 10;
