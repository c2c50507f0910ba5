-- Two tables of 10,000 rows and a small one, to be sorted, grouped and joined.
CREATE TABLE facts (
    id int PRIMARY KEY, dim int NOT NULL, val int NOT NULL, equal int NOT NULL, t text NOT NULL,
    few int NOT NULL, amount numeric(12, 2) NOT NULL);
INSERT INTO facts
SELECT i, i % 500, i * 7919 % 10007, 42, md5(i::text), i % 20, (i * 31 % 100000) / 100.0
FROM generate_series(1, 10000) AS i;
CREATE TABLE others (id int PRIMARY KEY, fact int NOT NULL, val int NOT NULL);
INSERT INTO others SELECT i, i * 3 % 20000, i * 104729 % 10009 FROM generate_series(1, 10000) AS i;
CREATE TABLE dims (id int PRIMARY KEY, name text NOT NULL, parent int);
INSERT INTO dims SELECT i, 'dim ' || i, nullif(i / 2, 0) FROM generate_series(0, 499) AS i;
CREATE INDEX facts_dim ON facts (dim);
CREATE INDEX others_fact ON others (fact);
