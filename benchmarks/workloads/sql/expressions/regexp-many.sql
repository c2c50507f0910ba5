SELECT count(*) FROM vals AS a JOIN vals AS b ON b.id <= 3 AND b.doc ~ ('number ' || a.id || ' |house (' || a.id % 90 || '|7)[^0-9]') WHERE a.id <= 60;
SELECT count(*) FILTER (WHERE regexp_like(doc, 'fox number [0-9]*' || id || '\M', 'i')), sum(regexp_count(doc, '[aeiou]{1,2}')), sum(regexp_instr(doc, '\w+s\y', 1, 2)), max(regexp_substr(doc, '(\d+) jumps', 1, 1, 'i', 1)), max(regexp_replace(doc, 'o(.)', '<\1>', 5, 2)), max(regexp_replace(doc, '[[:upper:]]', '*', 1, 0, 'c')) FROM vals WHERE id <= 60;
SELECT count(*) FROM vals WHERE id <= 40 AND t SIMILAR TO ('row ' || id || ' [0-9a-f]{32}');
SELECT count(*) FROM vals WHERE id <= 40 AND doc ~ ('^(?:The|An?) (?=quick).*(?<!hungry )fox number ' || id || '(?!\d).*?(e)\1?l+e.*$');
