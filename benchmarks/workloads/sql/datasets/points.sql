-- 20,000 points under a GiST index.
CREATE TABLE points (id int PRIMARY KEY, p point NOT NULL);
INSERT INTO points
SELECT i, point(i * 7919 % 1009, i * 104729 % 1013) FROM generate_series(1, 20000) AS i;
CREATE INDEX points_p ON points USING gist (p);
