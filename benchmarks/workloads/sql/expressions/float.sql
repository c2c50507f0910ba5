SELECT sum(f * 1.5 + f / 3 - f * f * 0.001) FROM vals;
