SELECT val FROM seen WHERE id = 42;
