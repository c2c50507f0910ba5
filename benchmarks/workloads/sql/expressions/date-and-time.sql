SELECT max(to_char(tstz, 'YYYY-MM-DD HH24:MI:SS.US TZ')), max(to_char(tstz, 'Dy, DD Mon YYYY HH12:MI AM')), max(to_char(tstz, 'FMDay, FMDDth FMMonth, IYYY-IW-ID Q J')),
    max(to_char(tstz::timestamp, 'CC WW DDD RM SSSSS MS')), max(to_char(iv, 'YY-MM-DD HH24:MI:SS')), max(to_char(tstz, 'Y,YYY TMMonth BC')),
    max(to_timestamp(to_char(tstz, 'YYYY-MM-DD HH24:MI:SS'), 'YYYY-MM-DD HH24:MI:SS')), max(to_date(to_char(tstz, 'DD Mon YYYY'), 'DD Mon YYYY')),
    max(to_date(to_char(tstz, 'IYYY-IW-ID'), 'IYYY-IW-ID')), max(to_timestamp(id * 86400.5))
FROM kinds WHERE id <= 100;
SELECT max(age(tstz, timestamptz '2019-05-17 03:04:05+00')), max(age(tstz::timestamp, timestamp '2021-01-31')), max(justify_days(iv)), max(justify_hours(iv)),
    max(justify_interval(iv)), max(iv * 1.5), max(iv / 3), max(iv + interval '1 day 02:03:04'), max(iv - interval '3 mons'), max(- iv), sum(iv), avg(iv),
    max(make_date(2000 + id % 30, id % 12 + 1, id % 28 + 1)), max(make_time(id % 24, id % 60, 7.5)), max(make_timestamp(2020, id % 12 + 1, 3, 4, 5, 6.7)),
    max(make_timestamptz(2020, id % 12 + 1, 3, 4, 5, 6.7, 'UTC')), max(make_interval(0, id % 12, 0, id % 30, 2, 3, 4.5)), max(tstz AT TIME ZONE 'Europe/Vienna'),
    max(tstz::timestamp AT TIME ZONE 'America/New_York'), max(tz AT TIME ZONE '+05:30'), max(timezone('Asia/Tokyo', tstz)), max(date_trunc('week', tstz)),
    max(date_trunc('quarter', tstz::timestamp)), max(date_trunc('hour', iv)), max(date_trunc('day', tstz, 'Australia/Sydney')), count(*) FILTER (WHERE isfinite(tstz)), count(*) FILTER (WHERE isfinite(iv))
FROM kinds WHERE id <= 100;
SELECT sum(extract(epoch FROM tstz)), sum(extract(doy FROM tstz)), sum(extract(isoyear FROM tstz)), sum(extract(week FROM tstz::timestamp)), sum(extract(century FROM tstz)),
    sum(extract(julian FROM tstz)), sum(extract(timezone_hour FROM tstz)), sum(extract(epoch FROM iv)), sum(extract(month FROM iv)), sum(extract(minute FROM t)),
    sum(extract(epoch FROM t)), sum(extract(epoch FROM tz)), sum(extract(hour FROM tz)), sum(extract(dow FROM tstz::date)), sum(date_part('year', tstz::date)), sum(date_part('day', iv))
FROM kinds WHERE id <= 100;
SELECT count(*) FILTER (WHERE (a.tstz, a.iv) OVERLAPS (b.tstz, b.iv)), count(*) FILTER (WHERE (a.t, a.t + interval '1 hour') OVERLAPS (b.t, b.t + interval '2 hours')), count(*) FILTER (WHERE a.t < b.t),
    count(*) FILTER (WHERE a.tz >= b.tz), count(*) FILTER (WHERE a.iv > b.iv), count(*) FILTER (WHERE a.tstz <= b.tstz::date), count(*) FILTER (WHERE a.tstz::date > b.tstz::timestamp),
    count(*) FILTER (WHERE a.tstz::timestamp < b.tstz), count(*) FILTER (WHERE a.tstz::date = b.tstz::date), sum(a.tstz::date - b.tstz::date), max(a.tstz - b.tstz), max(a.t - b.t),
    max(a.tstz::date + b.t), max(a.tstz::date + b.tz), max(a.tstz::date + b.iv), max(a.tstz::date - b.iv), max(a.t + b.iv), max(a.tz - b.iv), max(a.tstz - b.iv)
FROM kinds AS a, kinds AS b WHERE a.id <= 10 AND b.id <= 10;
SELECT max(tstz::text), max(iv::text), max(t::text), max(tz::text), max(tstz::date::text), max(t::text::time), max(tz::text::timetz), max(iv::text::interval), max((tstz::date)::text::date),
    max(tstz::time), max(tstz::timetz), max(iv::time), max(t::interval), max(t::time(0)), max(tstz::timestamptz(1)), max(iv::interval(0)), max(tz::time), max(t::timetz) FROM kinds WHERE id <= 100;
SELECT count(*), min(d), max(d) FROM generate_series(timestamptz '2020-01-01 00:00:00+00', '2020-03-01 00:00:00+00', '6 hours') AS d;
SELECT count(*) FROM generate_series(timestamp '2020-03-01', timestamp '2020-01-01', interval '-1 day') AS d WHERE d BETWEEN 'yesterday'::timestamp - interval '100 years' AND 'infinity';
SELECT date 'January 8, 1999', date '1999.008', date 'J2451187', timestamp '19990108 040506.789', timestamptz '2020-10-30 12:00:00 Europe/Vienna', interval '1-2', interval 'P1Y2M3DT4H5M6S', interval '@ 1 year 2 mons ago', time '04:05 PM', timetz '04:05:06-08:00', timestamp 'epoch';
SET LOCAL intervalstyle = 'iso_8601';
SELECT iv, count(DISTINCT t), count(DISTINCT tz), min(iv) FROM kinds GROUP BY iv ORDER BY iv LIMIT 10;
