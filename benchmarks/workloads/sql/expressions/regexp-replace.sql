SELECT max(regexp_replace(t, '[0-9]+', '#', 'g')) FROM vals;
