SELECT count(j1.val) FROM j1 LEFT JOIN j2 ON j2.id = j1.ref LEFT JOIN j3 ON j3.id = j2.ref
    LEFT JOIN j4 ON j4.id = j3.ref LEFT JOIN (SELECT id, val + 1 AS more FROM j5) AS s ON s.id = j4.ref WHERE j1.id = 7;
