SELECT max(j ->> 'name'), sum((j ->> 'size')::int), max(j #>> '{home,city}') FROM docs;
