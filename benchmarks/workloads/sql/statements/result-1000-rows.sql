SELECT id, val FROM numbers WHERE id <= 1000;
