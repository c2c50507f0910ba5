SELECT count(*) FROM events WHERE happened >= timestamp '2020-01-05' AND happened < timestamp '2020-01-05 01:00:00';
