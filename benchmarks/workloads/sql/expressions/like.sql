SELECT count(*) FROM vals WHERE t LIKE '%7%a_c%' OR t LIKE 'row 1%';
