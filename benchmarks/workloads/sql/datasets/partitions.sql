-- Tables with 100 and with 1,000 partitions.
CREATE FUNCTION make_partitions(parts int) RETURNS void LANGUAGE plpgsql AS '
DECLARE name text := ''parts_'' || parts;
BEGIN
    EXECUTE ''CREATE TABLE '' || name || '' (id int NOT NULL, val int NOT NULL) PARTITION BY RANGE (id)'';
    FOR i IN 0 .. parts - 1 LOOP
        EXECUTE ''CREATE TABLE '' || name || ''_'' || i || '' PARTITION OF '' || name
            || '' FOR VALUES FROM ('' || i * 10 || '') TO ('' || (i + 1) * 10 || '')'';
    END LOOP;
    EXECUTE ''INSERT INTO '' || name || '' SELECT i, i * 7 FROM generate_series(0, ''
        || parts * 10 - 1 || '') AS i'';
END';
SELECT make_partitions(100);
SELECT make_partitions(1000);
