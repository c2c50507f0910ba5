UPDATE counters SET val = val + 1 WHERE id = 1;
