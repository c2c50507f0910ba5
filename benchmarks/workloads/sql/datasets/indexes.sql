-- 2,000 things under indexes of every kind and of many types.
CREATE TYPE mood AS ENUM ('calm', 'content', 'merry', 'wild');
CREATE TABLE things (
    id int PRIMARY KEY, few int NOT NULL, hole int, val int NOT NULL, name text NOT NULL, p point NOT NULL, b box NOT NULL,
    c circle NOT NULL, poly polygon NOT NULL, ip inet NOT NULL, during int4range NOT NULL, stamp timestamp NOT NULL,
    mac macaddr NOT NULL, u uuid NOT NULL, n numeric NOT NULL, feels mood NOT NULL, tags text[] NOT NULL, vec tsvector NOT NULL);
INSERT INTO things
SELECT i, i % 20, nullif(i % 10, 0), i * 7919 % 2003, 'thing ' || i % 500 || ' of ' || i % 7, point(i * 7919 % 211, i * 104729 % 223),
    box(point(i * 7919 % 211, i * 104729 % 223), point(i * 7919 % 211 + i % 9, i * 104729 % 223 + i % 7)),
    circle(point(i * 7919 % 211, i * 104729 % 223), i % 5 + 1), polygon(5, circle(point(i * 7919 % 211, i * 104729 % 223), i % 7 + 1)),
    ('10.' || i % 4 || '.' || i % 64 || '.' || i % 250)::inet, int4range(i, i + i % 40), timestamp '2020-01-01' + i * interval '1 hour',
    ('08:00:2b:01:' || lpad(to_hex(i % 256), 2, '0') || ':' || lpad(to_hex(i * 7 % 256), 2, '0'))::macaddr, md5(i::text)::uuid, i * 1.01,
    (ARRAY['calm', 'content', 'merry', 'wild'])[i % 4 + 1]::mood, ARRAY['t' || i % 30, 't' || i % 50],
    to_tsvector('simple', 'w' || i % 100 || ' w' || i % 333 || ' word')
FROM generate_series(1, 2000) AS i;
CREATE INDEX things_few ON things (few);
CREATE UNIQUE INDEX things_val ON things (val DESC, name) INCLUDE (few);
CREATE INDEX things_hole ON things (hole NULLS FIRST, val);
CREATE INDEX things_lower ON things (lower(name)) WHERE few > 3;
CREATE INDEX things_name ON things (name text_pattern_ops);
CREATE INDEX things_n ON things (n);
CREATE INDEX things_u ON things (u, mac);
CREATE INDEX things_stamp ON things (stamp, feels);
CREATE INDEX things_ip ON things (ip);
CREATE INDEX things_hash ON things USING hash (name);
CREATE INDEX things_quad ON things USING spgist (p);
CREATE INDEX things_kd ON things USING spgist (p kd_point_ops);
CREATE INDEX things_radix ON things USING spgist (name);
CREATE INDEX things_sp_ip ON things USING spgist (ip);
CREATE INDEX things_sp_range ON things USING spgist (during);
CREATE INDEX things_sp_box ON things USING spgist (b);
CREATE INDEX things_sp_poly ON things USING spgist (poly);
CREATE INDEX things_gist_p ON things USING gist (p);
CREATE INDEX things_gist_c ON things USING gist (c);
CREATE INDEX things_gist_poly ON things USING gist (poly);
CREATE INDEX things_gist_range ON things USING gist (during);
CREATE INDEX things_gist_ip ON things USING gist (ip inet_ops);
CREATE INDEX things_gist_vec ON things USING gist (vec);
CREATE INDEX things_gin_tags ON things USING gin (tags);
CREATE INDEX things_gin_vec ON things USING gin (vec);
CREATE INDEX things_brin ON things USING brin (id, stamp) WITH (pages_per_range = 4);
CREATE INDEX things_brin_box ON things USING brin (b, during, ip inet_inclusion_ops) WITH (pages_per_range = 4);
CREATE TABLE changing (
    id int PRIMARY KEY, val int, name text, p point, ip inet, during int4range, tags text[], vec tsvector, box box,
    EXCLUDE USING gist (during WITH &&) DEFERRABLE);
CREATE INDEX changing_val ON changing (val);
CREATE INDEX changing_hash ON changing USING hash (val);
CREATE INDEX changing_spgist ON changing USING spgist (p);
CREATE INDEX changing_radix ON changing USING spgist (name);
CREATE INDEX changing_sp_range ON changing USING spgist (during);
CREATE INDEX changing_sp_ip ON changing USING spgist (ip);
CREATE INDEX changing_gist ON changing USING gist (p, box);
CREATE INDEX changing_gist_vec ON changing USING gist (vec);
CREATE INDEX changing_gin ON changing USING gin (tags);
CREATE INDEX changing_gin_vec ON changing USING gin (vec) WITH (fastupdate = off);
CREATE INDEX changing_brin ON changing USING brin (id, val, during) WITH (pages_per_range = 1, autosummarize = on);
CREATE TABLE kept (id int PRIMARY KEY, val int, name text);
INSERT INTO kept SELECT i, i * 7919 % 503, 'kept ' || i % 90 FROM generate_series(1, 1000) AS i;
CREATE INDEX kept_name ON kept (name);
CREATE INDEX kept_hash ON kept USING hash (val);
CREATE MATERIALIZED VIEW kept_summary AS SELECT name, count(*) AS n, sum(val) AS total FROM kept GROUP BY name;
CREATE UNIQUE INDEX kept_summary_name ON kept_summary (name);
