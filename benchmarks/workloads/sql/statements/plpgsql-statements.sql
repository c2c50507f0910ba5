DO $$
DECLARE
    r record;
    c CURSOR (most int) FOR SELECT * FROM numbers WHERE id <= most ORDER BY id;
    open_one refcursor;
    one numbers%ROWTYPE;
    list int[] := '{1,2,3}';
    total numeric := 0;
    n int;
    t text;
BEGIN
    FOR r IN SELECT id, val FROM numbers WHERE id <= 20 LOOP
        CONTINUE WHEN r.id % 2 = 0;
        total := total + r.val;
    END LOOP;
    FOR r IN c (10) LOOP total := total + r.id; END LOOP;
    FOR r IN EXECUTE 'SELECT * FROM numbers WHERE id < $1' USING 5 LOOP total := total + r.val; END LOOP;
    OPEN open_one SCROLL FOR SELECT * FROM numbers WHERE id <= 30;
    FETCH open_one INTO one;
    MOVE FORWARD 5 FROM open_one;
    FETCH PRIOR FROM open_one INTO one;
    CLOSE open_one;
    FOREACH n IN ARRAY list || 4 LOOP list[n] := n * 2; END LOOP;
    WHILE n > 0 LOOP n := n - 1; EXIT WHEN n = 1; END LOOP;
    CASE n WHEN 1 THEN t := 'one'; ELSE t := 'other'; END CASE;
    EXECUTE format('SELECT count(*) FROM %I WHERE val > $1', 'numbers') INTO STRICT n USING 100;
    GET DIAGNOSTICS n = ROW_COUNT;
    PERFORM loop_sum(5), val_of(3);
    one.val := 7;
    SELECT one.id, t INTO r;
    BEGIN
        RAISE EXCEPTION 'wrong % of %', 1, t USING ERRCODE = 'P0001', HINT = 'none';
    EXCEPTION WHEN raise_exception OR unique_violation THEN
        GET STACKED DIAGNOSTICS t = MESSAGE_TEXT;
    END;
    BEGIN
        n := 'x'::int;
    EXCEPTION WHEN OTHERS THEN t := SQLERRM;
    END;
    BEGIN
        ASSERT n > 0, 'not positive';
        SELECT val INTO STRICT n FROM numbers WHERE id < 0;
    EXCEPTION WHEN no_data_found OR assert_failure THEN NULL;
    END;
    BEGIN
        INSERT INTO numbers VALUES (1, 1);
    EXCEPTION WHEN unique_violation THEN
        RAISE DEBUG 'known';
    END;
    UPDATE numbers SET val = val WHERE id = 3 RETURNING id INTO n;
    ROLLBACK;
END $$;
