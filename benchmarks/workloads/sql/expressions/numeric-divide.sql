SELECT sum(n / 7.3 + round(n / 3, 2)) FROM vals;
