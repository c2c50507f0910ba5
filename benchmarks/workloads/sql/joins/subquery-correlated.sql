SELECT count(*) FROM dims AS d WHERE (SELECT max(f.val) FROM facts AS f WHERE f.dim = d.id) > 9000;
