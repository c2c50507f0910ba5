SELECT count(*) FROM j1 JOIN j2 ON j2.ref = j1.id WHERE j1.id = 7;
