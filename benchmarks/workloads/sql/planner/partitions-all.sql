SELECT count(*) FROM parts_100;
