SELECT count(*) FROM seen AS a JOIN seen AS b ON b.id = a.val WHERE a.id < 10;
