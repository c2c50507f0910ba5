\set grp random(0, 99)
SELECT max(id) FROM items WHERE grp = :grp AND val > 1000 AND val < 9000;
