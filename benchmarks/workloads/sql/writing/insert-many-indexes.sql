INSERT INTO indexed SELECT coalesce(max(id), 0) + 1, 7, 8, 9, 'a short text' FROM indexed;
