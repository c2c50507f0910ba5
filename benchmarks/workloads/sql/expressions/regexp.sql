SELECT count(*) FROM vals WHERE t ~ 'row [0-9]+5 .*[a-f]{3}';
