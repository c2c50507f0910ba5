SELECT count(t::json) FROM docs;
