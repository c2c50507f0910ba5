SELECT max(length(ts_headline('english', doc, to_tsquery('english', 'elephant & house')))) FROM longtext WHERE id <= 5;
