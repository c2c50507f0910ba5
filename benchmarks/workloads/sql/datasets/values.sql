-- 1,000 rows with a column of each of the types that every release has.
CREATE TABLE vals (
    id int PRIMARY KEY, i int NOT NULL, b bigint NOT NULL, n numeric(20, 4) NOT NULL,
    f float8 NOT NULL, t text NOT NULL, ts timestamp NOT NULL, d date NOT NULL,
    arr int[] NOT NULL, doc text NOT NULL, vec tsvector NOT NULL);
INSERT INTO vals
SELECT i, i * 7919 % 10007, i::bigint * 1000003, i * 7919 % 10007 + 0.1234,
    i * 0.37, 'row ' || i || ' ' || md5(i::text),
    timestamp '2020-01-01 00:00:00' + i * interval '7919 seconds', date '2020-01-01' + i % 1000,
    ARRAY[i % 10, i % 20, i % 30, i % 40, i % 50],
    'The quick brown fox number ' || i || ' jumps over the lazy dogs of house ' || i % 97
        || ' while elephants are walking slowly through the databases',
    to_tsvector('english', 'The quick brown fox number ' || i
        || ' jumps over the lazy dogs of house ' || i % 97
        || ' while elephants are walking slowly through the databases')
FROM generate_series(1, 1000) AS i;
CREATE TABLE longtext (id int PRIMARY KEY, doc text NOT NULL);
INSERT INTO longtext
SELECT i, repeat('The quick brown fox jumps over the lazy dogs while elephants are walking slowly '
    || 'through the databases of house ' || i || '. ', 60)
FROM generate_series(1, 20) AS i;
