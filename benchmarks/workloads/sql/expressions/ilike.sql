SELECT count(*) FROM vals WHERE doc ILIKE '%ELEPHANTS%slowly%';
