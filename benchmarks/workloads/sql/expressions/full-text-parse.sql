SELECT max(length(to_tsvector('english', doc))) FROM vals WHERE id <= 100;
