DELETE FROM counters WHERE id = (SELECT min(id) FROM counters);
