SELECT count(*) FROM pg_logical_slot_peek_binary_changes('decoded', NULL, NULL);
