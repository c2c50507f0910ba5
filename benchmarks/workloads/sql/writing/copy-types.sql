COPY every TO '/dev/null';
COPY every TO '/dev/null' WITH (FORMAT binary);
COPY every TO '/dev/null' WITH (FORMAT csv);
BEGIN;
COPY taken FROM 'every.txt';
COPY taken FROM 'every.csv' WITH (FORMAT csv);
COPY taken FROM 'every.bin' WITH (FORMAT binary);
SELECT count(*) FROM taken;
ROLLBACK;
