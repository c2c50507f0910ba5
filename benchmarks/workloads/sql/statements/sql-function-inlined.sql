SELECT sum(add_one(val)) FROM numbers WHERE id <= 500;
