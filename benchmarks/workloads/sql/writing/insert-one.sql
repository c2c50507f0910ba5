INSERT INTO plain VALUES (1, 2, 'a short text');
