-- What utility commands work on.
CREATE TABLE heap (id int NOT NULL, val int NOT NULL, t text NOT NULL, tags int[] NOT NULL, area box NOT NULL);
INSERT INTO heap
SELECT i, i * 7919 % 5003, md5(i::text), ARRAY[i % 20, i % 30],
    box(point(i * 7919 % 1000, i * 104729 % 1000), point(i * 7919 % 1000 + 5, i * 104729 % 1000 + 5))
FROM generate_series(1, 5000) AS i;
CREATE TABLE clustered (id int PRIMARY KEY, val int NOT NULL, t text NOT NULL);
INSERT INTO clustered SELECT i, i * 7919 % 2003, md5(i::text) FROM generate_series(1, 2000) AS i;
CREATE INDEX clustered_val ON clustered (val);
CREATE TABLE dirty (id int PRIMARY KEY, val int NOT NULL);
INSERT INTO dirty SELECT i, i FROM generate_series(1, 2000) AS i;
CREATE TABLE emptied (id int NOT NULL);
