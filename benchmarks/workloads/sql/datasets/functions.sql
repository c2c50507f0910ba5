-- A table of 10,000 numbers and functions of every kind.
CREATE TABLE numbers (id int PRIMARY KEY, val int NOT NULL);
INSERT INTO numbers SELECT i, i * 7919 % 10007 FROM generate_series(1, 10000) AS i;
CREATE FUNCTION noop() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END';
CREATE FUNCTION loop_sum(n int) RETURNS int LANGUAGE plpgsql AS '
DECLARE total int := 0;
BEGIN
    FOR i IN 1 .. n LOOP
        IF i % 3 = 0 THEN total := total + i; ELSE total := total - 1; END IF;
    END LOOP;
    RETURN total;
END';
CREATE FUNCTION loop_queries(n int) RETURNS int LANGUAGE plpgsql AS '
DECLARE one int; total int := 0;
BEGIN
    FOR i IN 1 .. n LOOP
        SELECT val INTO one FROM numbers WHERE id = i;
        total := total + one;
    END LOOP;
    RETURN total;
END';
CREATE FUNCTION plpgsql_exceptions(n int) RETURNS int LANGUAGE plpgsql AS '
DECLARE caught int := 0;
BEGIN
    FOR i IN 1 .. n LOOP
        BEGIN
            PERFORM 1 / (i % 2);
        EXCEPTION WHEN division_by_zero THEN
            caught := caught + 1;
        END;
    END LOOP;
    RETURN caught;
END';
CREATE FUNCTION add_one(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 + 1';
CREATE FUNCTION val_of(int) RETURNS int LANGUAGE sql STABLE SECURITY DEFINER
    AS 'SELECT val FROM numbers WHERE id = $1';
CREATE FUNCTION some_numbers(int) RETURNS SETOF numbers LANGUAGE sql STABLE
    AS 'SELECT * FROM numbers WHERE id <= $1';
