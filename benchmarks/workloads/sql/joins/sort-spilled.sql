SELECT t, val FROM facts ORDER BY val, t OFFSET 9999;
