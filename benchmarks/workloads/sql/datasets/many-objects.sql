-- A database with 1,000 tables and a role that owns some of them.
CREATE ROLE visitor LOGIN;
CREATE TABLE seen (id int PRIMARY KEY, val int NOT NULL);
INSERT INTO seen SELECT i, i * 7 FROM generate_series(1, 1000) AS i;
GRANT SELECT ON seen TO visitor;
CREATE FUNCTION make_tables() RETURNS void LANGUAGE plpgsql AS '
BEGIN
    FOR i IN 1 .. 1000 LOOP
        EXECUTE ''CREATE TABLE o'' || i || '' (id int, val text)'';
    END LOOP;
END';
SELECT make_tables();
