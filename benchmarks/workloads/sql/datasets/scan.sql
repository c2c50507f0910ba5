-- 20,000 items with an index of every kind that every release has.
CREATE TABLE items (
    id int PRIMARY KEY, grp int NOT NULL, val int NOT NULL, price numeric(10, 2) NOT NULL,
    name text NOT NULL, created timestamp NOT NULL, tags int[] NOT NULL, area box NOT NULL,
    vec tsvector NOT NULL, h int NOT NULL);
INSERT INTO items
SELECT i, i % 100, i * 7919 % 20011, (i * 31 % 10000) / 100.0, 'item ' || md5(i::text),
    timestamp '2020-01-01 00:00:00' + i * interval '1 minute',
    ARRAY[i % 50, i % 70, i % 90],
    box(point(i * 7919 % 1000, i * 104729 % 1000), point(i * 7919 % 1000 + 5, i * 104729 % 1000 + 5)),
    to_tsvector('simple', 'w' || i % 100 || ' w' || i % 333 || ' w' || i % 1000), i
FROM generate_series(1, 20000) AS i;
CREATE INDEX items_val ON items (val);
CREATE INDEX items_grp_val ON items (grp, val);
CREATE INDEX items_name ON items (name);
CREATE INDEX items_created ON items (created);
CREATE INDEX items_h ON items USING hash (h);
CREATE INDEX items_tags ON items USING gin (tags);
CREATE INDEX items_vec ON items USING gin (vec);
CREATE INDEX items_area ON items USING gist (area);
