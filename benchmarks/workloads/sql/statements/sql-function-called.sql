SELECT sum(val_of(id)) FROM numbers WHERE id <= 50;
