SELECT max(to_char(ts, 'YYYY-MM-DD HH24-MI-SS')), max(to_char(n, '99999.99')) FROM vals;
