SELECT sum((i * 3 + 7) % 11 - (i & 255) + (i >> 2)) FROM vals;
