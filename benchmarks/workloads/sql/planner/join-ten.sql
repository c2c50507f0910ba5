SELECT count(*) FROM j1 JOIN j2 ON j2.ref = j1.id JOIN j3 ON j3.ref = j2.id JOIN j4 ON j4.ref = j3.id
    JOIN j5 ON j5.ref = j4.id JOIN j6 ON j6.ref = j5.id JOIN j7 ON j7.ref = j6.id
    JOIN j8 ON j8.ref = j7.id JOIN j9 ON j9.ref = j8.id JOIN j10 ON j10.ref = j9.id WHERE j1.id = 7;
