-- 100,000 events in the order of their time, under a BRIN index.
CREATE TABLE events (id int NOT NULL, happened timestamp NOT NULL, kind int NOT NULL);
INSERT INTO events
SELECT i, timestamp '2020-01-01 00:00:00' + i * interval '10 seconds', i % 10
FROM generate_series(1, 100000) AS i;
CREATE INDEX events_happened ON events USING brin (happened) WITH (pages_per_range = 8);
