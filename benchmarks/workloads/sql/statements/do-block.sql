DO 'DECLARE total int := 0; BEGIN FOR i IN 1 .. 200 LOOP total := total + i; END LOOP; END';
