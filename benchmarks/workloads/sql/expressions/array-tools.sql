SELECT max(array_append(words, 'z')), max(array_prepend('a', words)), max(array_cat(words, words)), max(words || words), sum(array_position(words, 'w1')), max(array_positions(words, 'w1')), max(array_remove(words, 'w1')), max(array_replace(words, 'w1', 'v')), max(array_dims(grid)), sum(array_ndims(grid)), sum(array_upper(grid, 1)), sum(array_lower(grid, 2)), sum(array_length(grid, 2)), sum(cardinality(grid)),
    max(array_to_string(words, ',')), max(array_to_string(grid, ',', '*')), max(grid[1:2][2:2]), max(words[2:]), max(words[:2]), sum(grid[2][1]), max(array_fill(id, ARRAY[3])), max(array_fill(7, ARRAY[2, 2], ARRAY[0, 1])), max(words::text), max(words::text::text[]), max(grid::float8[]), max(grid || ARRAY[7, 8]), max(array_cat(grid, grid)), max(grid::text::int[]), max(ARRAY[id, small, 3]), max(ARRAY[grid, grid])
FROM kinds WHERE id <= 100;
SELECT count(*) FILTER (WHERE a.words @> b.words), count(*) FILTER (WHERE a.words <@ b.words), count(*) FILTER (WHERE a.words && b.words), count(*) FILTER (WHERE a.words = b.words), count(*) FILTER (WHERE a.words < b.words), count(*) FILTER (WHERE a.grid >= b.grid), count(*) FILTER (WHERE a.grid <> b.grid), count(*) FILTER (WHERE 'w1' = ANY (a.words)), count(*) FILTER (WHERE 'w1' <> ALL (b.words)), count(*) FILTER (WHERE a.id = ANY (ARRAY[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])), count(*) FILTER (WHERE b.small > ALL (a.grid)) FROM kinds AS a, kinds AS b WHERE a.id <= 10 AND b.id <= 50;
SELECT word, count(*), min(place) FROM kinds, unnest(words) WITH ORDINALITY AS u (word, place) GROUP BY word ORDER BY word;
SELECT a, b, c FROM kinds, ROWS FROM (unnest(words), unnest(grid), generate_subscripts(grid, 1)) AS u (a, b, c) WHERE id <= 20;
SELECT unnest(words), generate_subscripts(words, 1), generate_subscripts(grid, 2, true) FROM kinds WHERE id <= 20;
SELECT array_agg(words) FROM kinds WHERE id <= 100;
SELECT array_agg(grid ORDER BY id DESC), array_agg(hole), array_agg(short) FILTER (WHERE truth) FROM kinds WHERE id <= 100;
SELECT ARRAY(SELECT short FROM kinds WHERE id <= 50 ORDER BY short), ARRAY(SELECT grid FROM kinds WHERE id <= 10);
SELECT grid, count(*) FROM kinds GROUP BY grid ORDER BY grid LIMIT 10;
SELECT count(DISTINCT words), max(words), min(grid) FROM kinds;
SELECT id FROM kinds WHERE words && ARRAY['w1', 'w2'] ORDER BY words, id LIMIT 10;
BEGIN;
UPDATE kinds SET words[2] = 'new', grid[1][2] = 99, at.house = 7 WHERE id <= 20;
UPDATE kinds SET words[1:2] = ARRAY['x', 'y'], words[5] = 'far' WHERE id <= 20;
ROLLBACK;
