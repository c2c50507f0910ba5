SELECT count(*) FILTER (WHERE a.during && b.during), count(*) FILTER (WHERE a.days @> b.days), count(*) FILTER (WHERE a.days <@ b.days),
    count(*) FILTER (WHERE a.nums << b.nums), count(*) FILTER (WHERE a.nums >> b.nums), count(*) FILTER (WHERE a.nums &< b.nums),
    count(*) FILTER (WHERE a.nums &> b.nums), count(*) FILTER (WHERE a.nums -|- b.nums), count(*) FILTER (WHERE a.nums < b.nums),
    count(*) FILTER (WHERE a.price >= b.price), count(*) FILTER (WHERE a.span = b.span), count(*) FILTER (WHERE a.nums @> b.id),
    count(*) FILTER (WHERE a.id <@ b.nums), count(*) FILTER (WHERE a.price @> b.id::numeric), count(*) FILTER (WHERE a.bigs <> b.bigs)
FROM bookings AS a JOIN bookings AS b ON b.id % 10 = a.id % 10 WHERE a.id <= 10 AND b.id <= 100;
SELECT count(lower(during)), count(upper(during)), sum(lower(nums)), sum(upper(bigs)), count(*) FILTER (WHERE isempty(during)),
    count(*) FILTER (WHERE lower_inc(nums)), count(*) FILTER (WHERE upper_inc(price)), count(*) FILTER (WHERE lower_inf(span)),
    count(*) FILTER (WHERE upper_inf(span)), count(nums * int4range(10, 90)), count(nums - int4range(1000, 1010)), count(nums + int4range(lower(nums), 600)),
    count(range_merge(days, daterange('2020-02-01', '2020-02-03'))), count(during::text), count(days::text), count(nums::text::int4range), count(price::text::numrange)
FROM bookings WHERE id <= 100 AND NOT isempty(during);
SELECT nums, count(*) FROM bookings GROUP BY nums ORDER BY nums LIMIT 10;
SELECT id FROM bookings ORDER BY days, price, span LIMIT 10;
SELECT count(DISTINCT days), count(DISTINCT price) FROM bookings;
SELECT count(*) FROM bookings AS a JOIN bookings AS b USING (days);
