INSERT INTO keyed SELECT coalesce(max(id), 0) + 1, 7, 'a short text' FROM keyed ON CONFLICT (id) DO NOTHING;
