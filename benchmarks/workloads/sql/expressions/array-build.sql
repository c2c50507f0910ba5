SELECT max(array_to_string(ARRAY[i, i + 1, i + 2] || arr, ',')) FROM vals;
