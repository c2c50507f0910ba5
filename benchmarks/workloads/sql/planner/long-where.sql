SELECT count(*) FROM wide WHERE (c1 = 1 OR c2 = 2 OR c3 = 3 OR c4 = 4 OR c5 = 5 OR c6 = 6 OR c7 = 7 OR c8 = 8)
    AND (c9 < 9 OR c10 < 10) AND (c11 < 11 OR c12 < 12) AND c13 + c14 < 27 AND c15 * 2 < 30 AND NOT (c16 > 16 AND c17 > 17)
    AND c18 IN (0, 1, 2, 3) AND c19 BETWEEN -1 AND 1 AND c20 IS NOT NULL AND coalesce(c21, 1) = 0 AND id < 20;
