-- 500 rows with a column of each of the types that are used less often, and types made by users.
CREATE TYPE mood AS ENUM ('calm', 'content', 'merry', 'wild');
CREATE DOMAIN percent AS int CHECK (VALUE BETWEEN 0 AND 100);
CREATE DOMAIN word AS varchar(40) COLLATE "C" NOT NULL CHECK (VALUE <> '');
CREATE TYPE place AS (street text, house int, mood mood);
CREATE TABLE shapes (
    id int PRIMARY KEY, p point NOT NULL, l line NOT NULL, s lseg NOT NULL, b box NOT NULL,
    way path NOT NULL, poly polygon NOT NULL, c circle NOT NULL);
INSERT INTO shapes
SELECT i, point(x, y), line(point(x, y), point(x + i % 7 + 1, y + i % 5)),
    lseg(point(x, y), point(x + i % 11 + 1, y + i % 13)),
    box(point(x, y), point(x + i % 17 + 1, y + i % 19 + 1)),
    ('[(' || x || ',' || y || '),(' || x + 5 || ',' || y + i % 9 || '),(' || x + 9 || ',' || y || ')]')::path,
    polygon(i % 5 + 3, circle(point(x, y), i % 10 + 1)), circle(point(x, y), i % 20 + 1)
FROM (SELECT i, i * 7919 % 211 AS x, i * 104729 % 223 AS y FROM generate_series(1, 500) AS i) AS made;
CREATE TABLE hosts (
    id int PRIMARY KEY, ip inet NOT NULL, net cidr NOT NULL, mac macaddr NOT NULL, mac8 macaddr8 NOT NULL);
INSERT INTO hosts
SELECT i, CASE WHEN i % 5 = 0 THEN ('2001:db8::' || to_hex(i) || '/64')::inet
        ELSE ('10.' || i % 4 || '.' || i % 64 || '.' || i % 250 || '/24')::inet END,
    CASE WHEN i % 5 = 0 THEN ('2001:db8:' || to_hex(i) || '::/48')::cidr
        ELSE ('10.' || i % 4 || '.' || i % 64 || '.0/24')::cidr END,
    ('08:00:2b:' || lpad(to_hex(i % 256), 2, '0') || ':02:' || lpad(to_hex(i * 7 % 256), 2, '0'))::macaddr,
    ('08:00:2b:ff:fe:' || lpad(to_hex(i % 256), 2, '0') || ':02:' || lpad(to_hex(i * 7 % 256), 2, '0'))::macaddr8
FROM generate_series(1, 500) AS i;
CREATE TABLE bookings (
    id int PRIMARY KEY, room int NOT NULL, during tsrange NOT NULL, span tstzrange NOT NULL,
    days daterange NOT NULL, nums int4range NOT NULL, bigs int8range NOT NULL, price numrange NOT NULL);
INSERT INTO bookings
SELECT i, i % 20,
    tsrange(timestamp '2020-01-01' + i * interval '1 hour', timestamp '2020-01-01' + i * interval '1 hour' + i % 9 * interval '20 minutes'),
    tstzrange(timestamptz '2020-01-01 00:00:00+00' + i * interval '1 hour', timestamptz '2020-01-02 00:00:00+00' + i * interval '1 hour'),
    daterange(date '2020-01-01' + i % 90, date '2020-01-02' + i % 90 + i % 11), int4range(i, i + i % 30, '[]'),
    int8range(i * 1000, i * 1000 + i % 70), numrange(i / 10.0, i / 10.0 + i % 13, '(]')
FROM generate_series(1, 500) AS i;
CREATE TABLE kinds (
    id int PRIMARY KEY, small int2 NOT NULL, real float4 NOT NULL, cash money NOT NULL, flags bit(16) NOT NULL,
    bits varbit NOT NULL, raw bytea NOT NULL, fixed char(12) NOT NULL, short varchar(30) NOT NULL, called name NOT NULL,
    letter "char" NOT NULL, u uuid NOT NULL, feels mood NOT NULL, score percent NOT NULL, at place NOT NULL,
    t time NOT NULL, tz timetz NOT NULL, tstz timestamptz NOT NULL, iv interval NOT NULL, truth boolean NOT NULL,
    words text[] NOT NULL, grid int[] NOT NULL, hole int);
INSERT INTO kinds
SELECT i, i % 300, i * 0.73, (i * 1.17)::numeric::money, (i * 91 % 65536)::bit(16),
    substring((i * 104729)::bit(32) FROM 1 FOR i % 30 + 1), decode(md5(i::text), 'hex'), 'fixed ' || i % 90,
    'short ' || i % 120, ('name' || i % 150)::name, chr(65 + i % 26)::"char", md5(i::text)::uuid,
    (ARRAY['calm', 'content', 'merry', 'wild'])[i % 4 + 1]::mood, i % 101,
    ROW('street ' || i % 50, i % 77, 'merry')::place, time '00:00' + i * interval '171 seconds',
    (time '00:00' + i * interval '171 seconds')::text::timetz, timestamptz '2020-01-01 00:00:00+00' + i * interval '7919 seconds',
    i % 14 * interval '1 month' + i % 31 * interval '1 day' + i * interval '97 seconds', i % 3 = 0,
    ARRAY['w' || i % 7, 'w' || i % 11, 'w' || i % 13], ARRAY[[i, i % 2], [i % 3, i % 5]], CASE WHEN i % 4 > 0 THEN i % 9 END
FROM generate_series(1, 500) AS i;
CREATE TABLE vals (id int PRIMARY KEY, i int NOT NULL, t text NOT NULL, d date NOT NULL, doc text NOT NULL);
INSERT INTO vals
SELECT i, i * 7919 % 10007, 'row ' || i || ' ' || md5(i::text), date '2020-01-01' + i % 1000,
    'The quick brown fox number ' || i || ' jumps over the lazy dogs of house ' || i % 97 || ' while elephants are walking'
FROM generate_series(1, 500) AS i;
