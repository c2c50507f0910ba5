BEGIN;
CREATE TABLE spread (id int8, name text, at timestamp, day date, u uuid, n numeric, f float8, small int2, raw bytea, ip inet, iv interval, arr int[], doc jsonb, span int4range, code "char", called name, fixed char(8), truth boolean, r float4, t time, o oid) PARTITION BY HASH (id, name, at, day, u, n, f, small, raw, ip, iv, arr, doc, span, code, called, fixed, truth, r, t, o);
CREATE TABLE spread_0 PARTITION OF spread FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE spread_1 PARTITION OF spread FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE spread_2 PARTITION OF spread FOR VALUES WITH (MODULUS 3, REMAINDER 2);
INSERT INTO spread SELECT i, 'n' || i, timestamp '2020-01-01' + i * interval '1 day', date '2020-01-01' + i, md5(i::text)::uuid, i * 1.5, i, i, md5(i::text)::bytea, '10.0.0.1'::inet + i, i * interval '1 hour', ARRAY[i], to_jsonb(i), int4range(i, i + 3), 'c', 'n' || i % 7, 'f' || i, i % 2 = 0, i, time '00:00' + i * interval '1 minute', i FROM generate_series(1, 100) AS i;
SELECT tableoid::regclass, count(*) FROM spread GROUP BY 1 ORDER BY 1;
SELECT satisfies_hash_partition('spread'::regclass, 3, 0, 1::int8, 'n'::text, NULL::timestamp, NULL::date, NULL::uuid, NULL::numeric, NULL::float8, NULL::int2, NULL::bytea, NULL::inet, NULL::interval, NULL::int[], NULL::jsonb, NULL::int4range, NULL::"char", NULL::name, NULL::char(8), NULL::boolean, NULL::float4, NULL::time, NULL::oid);
ROLLBACK;
