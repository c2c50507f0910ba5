SELECT min(val), max(val), min(created), max(created) FROM items;
