SELECT count(*) FROM docs WHERE jb @> '{"tags": ["t7"]}' AND id > 0;
