-- A table without WAL.
CREATE UNLOGGED TABLE quiet (id int NOT NULL, val int NOT NULL, t text NOT NULL);
