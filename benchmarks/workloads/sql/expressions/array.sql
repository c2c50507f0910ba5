SELECT count(*) FROM vals WHERE 7 = ANY (arr) OR arr @> ARRAY[3] OR array_upper(arr, 1) > 9;
