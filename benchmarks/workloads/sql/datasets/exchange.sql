-- 100 rows with a column of each type, and the same rows in files.
CREATE TYPE mood AS ENUM ('calm', 'content', 'merry');
CREATE DOMAIN even AS int CHECK (VALUE % 2 = 0);
CREATE TYPE place AS (street text, house int);
CREATE TABLE every (
    id int, small int2, big int8, r float4, f float8, n numeric, m money, truth boolean, t text, v varchar(20), c char(6),
    ch "char", na name, raw bytea, d date, ti time, tz timetz, ts timestamp, tstz timestamptz, iv interval, p point, l line,
    s lseg, b box, way path, poly polygon, circ circle, ip inet, net cidr, mac macaddr, mac8 macaddr8, bits bit(8), vb varbit,
    u uuid, j json, jb jsonb, jp jsonpath, arr int[], texts text[][], r4 int4range, tr tsrange, vec tsvector, q tsquery, feels mood, e even,
    at place, o oid, cls regclass, ty regtype, pr regprocedure, lsn pg_lsn, tid tid, x xid, acl aclitem[], snap pg_snapshot);
INSERT INTO every
SELECT i, i, i * 1000000007::int8, i * 0.3, i * 0.7, i * 1.01, i::money, i % 2 = 0, 'text ' || i, 'v' || i, 'c' || i, 'x', 'n' || i, md5(i::text)::bytea,
    date '2020-01-01' + i, time '01:00' + i * interval '1 minute', (time '01:00' + i * interval '1 minute')::text::timetz,
    timestamp '2020-01-01' + i * interval '1 hour', timestamptz '2020-01-01 00:00:00+00' + i * interval '1 hour', i * interval '1 day 2 hours',
    point(i, i), line(point(i, i), point(i + 1, i + 2)), lseg(point(i, 0), point(0, i)), box(point(i, i), point(i + 1, i + 1)), path(polygon(3, circle(point(i, i), 1))),
    polygon(4, circle(point(i, i), 2)), circle(point(i, i), 3), ('10.0.0.' || i)::inet, ('10.0.' || i || '.0/24')::cidr, ('08:00:2b:01:02:' || lpad(to_hex(i), 2, '0'))::macaddr,
    ('08:00:2b:01:02:03:04:' || lpad(to_hex(i), 2, '0'))::macaddr8, i::bit(8), substring(i::bit(8) FROM 1 FOR i % 8 + 1), md5(i::text)::uuid, ('{"a": ' || i || '}')::json, ('{"a": [' || i || ', null, true]}')::jsonb,
    '$.a[*] ? (@ > 1)', ARRAY[i, NULL, 3], ARRAY[['a', 'b"c'], ['d e', i::text]], int4range(i, i + 5), tsrange('2020-01-01', NULL), to_tsvector('simple', 'word ' || i), to_tsquery('simple', 'word & !' || i),
    'merry', i * 2, ROW('street, with "quotes" ' || i, i)::place, i, 'pg_class', 'int4', 'int4pl(int,int)', '0/16B3740', '(0,1)', '7', ARRAY[]::aclitem[], '10:20:10,14'
FROM generate_series(1, 100) AS i;
CREATE TABLE taken (LIKE every);
-- COPY takes no expression for a file's name, and the place of the data is known only here.
CREATE FUNCTION export(what text, file text, how text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('COPY %s TO %L WITH (%s)', what, current_setting('data_directory') || '/' || file, how);
END $$;
ALTER TABLE every DROP COLUMN acl;
ALTER TABLE taken DROP COLUMN acl;
SELECT export('every', 'every.txt', 'FORMAT text');
SELECT export('every', 'every.csv', 'FORMAT csv, FORCE_QUOTE *');
SELECT export('every', 'every.bin', 'FORMAT binary');
