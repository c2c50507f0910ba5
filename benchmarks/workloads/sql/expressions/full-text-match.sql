SELECT count(*) FROM vals WHERE vec @@ to_tsquery('english', 'elephant & (house | fox) & !cat');
