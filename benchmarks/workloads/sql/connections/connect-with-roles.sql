SELECT count(*) FROM seen WHERE id = 1;
