EXECUTE of_numbers (42);
