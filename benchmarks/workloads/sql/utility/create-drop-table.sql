BEGIN;
CREATE TABLE made (id int PRIMARY KEY, val int NOT NULL, t text DEFAULT 'x');
DROP TABLE made;
COMMIT;
