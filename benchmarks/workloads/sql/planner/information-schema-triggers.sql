SELECT trigger_name FROM information_schema.triggers WHERE event_object_table = 'j1';
