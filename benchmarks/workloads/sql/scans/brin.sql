\set day random(0, 10)
SELECT count(*) FROM events WHERE happened >= timestamp '2020-01-01' + :day * interval '1 day' AND happened < timestamp '2020-01-01 01:00:00' + :day * interval '1 day';
