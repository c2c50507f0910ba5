-- Tables to be written to, and files of the server to copy from.
CREATE TABLE plain (id int NOT NULL, val int NOT NULL, t text NOT NULL);
CREATE TABLE keyed (id int PRIMARY KEY, val int NOT NULL, t text NOT NULL);
CREATE TABLE counters (id int PRIMARY KEY, val int NOT NULL, other int NOT NULL, pad text NOT NULL);
CREATE INDEX counters_other ON counters (other);
CREATE TABLE indexed (id int PRIMARY KEY, a int NOT NULL, b int NOT NULL, c int NOT NULL, d text NOT NULL);
CREATE INDEX indexed_a ON indexed (a);
CREATE INDEX indexed_b ON indexed (b);
CREATE INDEX indexed_c ON indexed (c);
CREATE INDEX indexed_d ON indexed (d);
CREATE INDEX indexed_ab ON indexed (a, b);
CREATE TABLE parents (id int PRIMARY KEY, name text NOT NULL);
INSERT INTO parents SELECT i, 'parent ' || i FROM generate_series(1, 1000) AS i;
CREATE TABLE children (id int NOT NULL, parent int NOT NULL REFERENCES parents);
CREATE TABLE audited (id int NOT NULL, val int NOT NULL, stamp int);
CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.stamp := NEW.val + 1; RETURN NEW; END';
CREATE TRIGGER audited_stamp BEFORE INSERT ON audited FOR EACH ROW EXECUTE PROCEDURE stamp();
CREATE TABLE narrow (id int NOT NULL, val int NOT NULL);
CREATE TABLE broad (
    id int NOT NULL, a int NOT NULL, b bigint NOT NULL, c text NOT NULL, d text NOT NULL,
    e timestamp NOT NULL, f float8 NOT NULL, g numeric NOT NULL, h boolean NOT NULL, i text);
INSERT INTO narrow SELECT i, i * 7919 % 10007 FROM generate_series(1, 1000) AS i;
INSERT INTO broad
SELECT i, i % 100, i::bigint * 1000003, md5(i::text), 'some "quoted", text ' || i,
    timestamp '2020-01-01 00:00:00' + i * interval '1 minute', i * 0.37, i * 1.01, i % 2 = 0,
    CASE WHEN i % 3 = 0 THEN NULL ELSE repeat('x', i % 50) END
FROM generate_series(1, 500) AS i;
-- COPY takes no expression for a file's name, and the place of the data is known only here.
CREATE FUNCTION export(query text, file text, how text) RETURNS void LANGUAGE plpgsql AS '
BEGIN
    EXECUTE ''COPY '' || query || '' TO '' || quote_literal(current_setting(''data_directory'') || ''/'' || file)
        || how;
END';
SELECT export('narrow', 'narrow.copy', '');
SELECT export('broad', 'broad.copy', '');
SELECT export('broad', 'broad.csv', ' CSV');
