SELECT sum(f.val) FROM dims AS d JOIN facts AS f ON f.dim = d.id WHERE d.id < 100;
