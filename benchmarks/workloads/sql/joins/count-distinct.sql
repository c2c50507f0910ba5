SELECT count(DISTINCT val), count(DISTINCT dim) FROM facts;
