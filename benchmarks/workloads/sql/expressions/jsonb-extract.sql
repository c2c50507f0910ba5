SELECT max(jb ->> 'name'), sum((jb ->> 'size')::int), max(jb #>> '{home,city}') FROM docs;
