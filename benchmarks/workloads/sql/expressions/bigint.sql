SELECT sum((b * 3 + 7) % 1000003 - b / 17) FROM vals;
