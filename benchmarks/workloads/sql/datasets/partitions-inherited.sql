-- Tables with 100 and with 1,000 partitions, as they were made before 10: children with a CHECK.
CREATE FUNCTION make_partitions(parts int) RETURNS void LANGUAGE plpgsql AS '
DECLARE name text := ''parts_'' || parts;
BEGIN
    EXECUTE ''CREATE TABLE '' || name || '' (id int NOT NULL, val int NOT NULL)'';
    FOR i IN 0 .. parts - 1 LOOP
        EXECUTE ''CREATE TABLE '' || name || ''_'' || i || '' (CHECK (id >= '' || i * 10 || '' AND id < ''
            || (i + 1) * 10 || '')) INHERITS ('' || name || '')'';
        EXECUTE ''INSERT INTO '' || name || ''_'' || i || '' SELECT i, i * 7 FROM generate_series(''
            || i * 10 || '', '' || i * 10 + 9 || '') AS i'';
    END LOOP;
END';
SELECT make_partitions(100);
SELECT make_partitions(1000);
