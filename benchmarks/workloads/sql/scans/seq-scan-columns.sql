SELECT max(name), max(created), max(price) FROM items WHERE grp < 50;
