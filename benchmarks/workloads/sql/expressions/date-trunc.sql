SELECT sum(extract(month FROM ts) + extract(dow FROM d)), max(date_trunc('hour', ts)) FROM vals;
