SELECT count(*) FROM facts WHERE id IN (SELECT fact FROM others WHERE val < 5000);
