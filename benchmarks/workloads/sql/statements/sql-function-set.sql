SELECT count(*) FROM some_numbers(500);
