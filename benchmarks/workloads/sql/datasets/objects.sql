-- A database with 1,000 tables, and a role that may read one of them as a member of 100 others.
CREATE TABLE seen (id int PRIMARY KEY, val int NOT NULL);
INSERT INTO seen SELECT i, i * 7 FROM generate_series(1, 1000) AS i;
CREATE ROLE visitor LOGIN;
ALTER ROLE visitor SET work_mem = '8MB';
ALTER ROLE visitor SET search_path = 'public';
ALTER ROLE visitor SET statement_timeout = '1h';
CREATE FUNCTION make_objects() RETURNS void LANGUAGE plpgsql AS '
BEGIN
    FOR i IN 1 .. 1000 LOOP
        EXECUTE ''CREATE TABLE o'' || i || '' (id int, val text)'';
    END LOOP;
    FOR i IN 1 .. 100 LOOP
        EXECUTE ''CREATE ROLE r'' || i;
        EXECUTE ''GRANT r'' || i || '' TO visitor'';
    END LOOP;
END';
SELECT make_objects();
GRANT SELECT ON seen TO r100;
