-- Ten small tables that refer to each other, views on views, a table with many indexes.
CREATE FUNCTION make_schema() RETURNS void LANGUAGE plpgsql AS '
BEGIN
    EXECUTE ''CREATE TABLE j1 (id int PRIMARY KEY, ref int NOT NULL, val int NOT NULL)'';
    FOR i IN 2 .. 10 LOOP
        EXECUTE ''CREATE TABLE j'' || i || '' (id int PRIMARY KEY, ref int NOT NULL REFERENCES j''
            || i - 1 || '', val int NOT NULL)'';
    END LOOP;
    FOR i IN 1 .. 10 LOOP
        EXECUTE ''INSERT INTO j'' || i
            || '' SELECT i, i, i * 7 % 50 FROM generate_series(1, 50) AS i'';
        EXECUTE ''CREATE INDEX j'' || i || ''_ref ON j'' || i || '' (ref)'';
    END LOOP;
    EXECUTE ''CREATE VIEW v1 AS SELECT j1.id, j1.val, j2.val AS other FROM j1 JOIN j2 ON j2.ref = j1.id'';
    FOR i IN 2 .. 8 LOOP
        EXECUTE ''CREATE VIEW v'' || i || '' AS SELECT v.id, v.val, v.other + j.val AS other FROM v''
            || i - 1 || '' AS v JOIN j'' || i || '' AS j ON j.ref = v.id'';
    END LOOP;
    EXECUTE ''CREATE TABLE wide (id int PRIMARY KEY)'';
    FOR i IN 1 .. 40 LOOP
        EXECUTE ''ALTER TABLE wide ADD COLUMN c'' || i || '' int DEFAULT 0 NOT NULL'';
    END LOOP;
    EXECUTE ''INSERT INTO wide (id, c1, c2, c3) SELECT i, i % 10, i % 20, i % 30 ''
        || ''FROM generate_series(1, 500) AS i'';
    FOR i IN 1 .. 40 LOOP
        EXECUTE ''CREATE INDEX wide_c'' || i || '' ON wide (c'' || i || '')'';
    END LOOP;
END';
SELECT make_schema();
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER j1_nothing BEFORE INSERT ON j1 FOR EACH ROW EXECUTE PROCEDURE nothing();
