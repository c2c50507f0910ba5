SELECT count(*), sum(f.val) FROM facts AS f JOIN others AS o ON o.fact = f.id;
