SELECT count(t::jsonb) FROM docs;
