INSERT INTO quiet VALUES (1, 2, 'a short text');
