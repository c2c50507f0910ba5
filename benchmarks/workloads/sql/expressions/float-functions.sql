SELECT sum(sqrt(f) + ln(f + 1) + floor(f)) FROM vals;
