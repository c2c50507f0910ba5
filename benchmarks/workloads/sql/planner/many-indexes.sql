SELECT count(*) FROM wide WHERE c1 = 5 AND c2 = 5 AND c3 = 5 AND c4 = 0;
