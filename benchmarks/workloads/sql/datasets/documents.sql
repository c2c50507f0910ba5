-- 1,000 documents as json and as jsonb.
CREATE TABLE docs (id int PRIMARY KEY, j json NOT NULL, jb jsonb NOT NULL, t text NOT NULL);
INSERT INTO docs (id, j, jb, t)
SELECT i, s::json, s::jsonb, s FROM (
    SELECT i, '{"id": ' || i || ', "name": "elephant ' || i || '", "size": ' || i % 100
        || ', "tags": ["grey", "large", "t' || i % 10 || '"], "home": {"city": "c' || i % 50
        || '", "zip": "' || 10000 + i || '"}, "alive": true}' AS s
    FROM generate_series(1, 1000) AS i) AS made;
CREATE INDEX docs_jb ON docs USING gin (jb);
