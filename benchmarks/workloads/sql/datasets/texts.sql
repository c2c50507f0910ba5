-- Texts, their lexemes and documents to be searched and taken apart.
CREATE TYPE home AS (city text, zip text);
CREATE TYPE animal AS (id int, name text, size int, tags text[], home home, alive boolean);
CREATE TABLE docs (id int PRIMARY KEY, j json NOT NULL, jb jsonb NOT NULL, t text NOT NULL);
INSERT INTO docs (id, j, jb, t)
SELECT i, s::json, s::jsonb, s FROM (
    SELECT i, '{"id": ' || i || ', "name": "elephant ' || i || '", "size": ' || i % 100
        || ', "tags": ["grey", "large", "t' || i % 10 || '"], "home": {"city": "c' || i % 50
        || '", "zip": "' || 10000 + i || '"}, "alive": true}' AS s
    FROM generate_series(1, 500) AS i) AS made;
CREATE INDEX docs_jb ON docs USING gin (jb);
CREATE INDEX docs_path ON docs USING gin (jb jsonb_path_ops);
CREATE TABLE texts (id int PRIMARY KEY, t text NOT NULL, doc text NOT NULL, vec tsvector NOT NULL);
INSERT INTO texts
SELECT i, 'title ' || i, s, to_tsvector('english', s) FROM (
    SELECT i, 'The quick brown fox number ' || i || ' jumps over the lazy dogs of house ' || i % 97
        || ' while elephants are walking slowly through the databases' AS s
    FROM generate_series(1, 500) AS i) AS made;
CREATE TABLE notes (id int PRIMARY KEY, title text, body text, vec tsvector);
CREATE INDEX notes_vec ON notes USING gin (vec);
CREATE TRIGGER notes_vec BEFORE INSERT OR UPDATE ON notes FOR EACH ROW
    EXECUTE FUNCTION tsvector_update_trigger('vec', 'pg_catalog.english', 'title', 'body');
