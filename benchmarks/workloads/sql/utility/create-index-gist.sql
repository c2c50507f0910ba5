BEGIN;
CREATE INDEX made ON heap USING gist (area);
ROLLBACK;
