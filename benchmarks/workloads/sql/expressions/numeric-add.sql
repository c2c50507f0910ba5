SELECT sum(n + n * 2 - 1.5) FROM vals;
