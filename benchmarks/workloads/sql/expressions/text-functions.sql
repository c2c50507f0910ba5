SELECT max(upper(substr(t, 3, 12)) || replace(t, 'a', 'bb') || lpad(t, 50)) FROM vals;
